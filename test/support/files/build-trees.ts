import { parsePath } from '../../../src/core/files/path.ts';
import {
  blobOfTree,
  type FileEntry,
  isLinkTarget,
  type LinkEntry,
  type TreeEntry,
} from '../../../src/core/files/tree.ts';
import type { NewBlob } from '../../../src/core/ports/blobs.ts';
import { PerdureError } from '../../../src/schema/error.ts';

export interface PathEntry {
  readonly path: string;
  readonly entry: FileEntry | LinkEntry | { readonly kind: 'folder'; readonly mode: number };
}

export interface BuiltTrees {
  readonly root: NewBlob;
  /** All trees; the root is the last one. */
  readonly trees: readonly NewBlob[];
}

interface Folder {
  readonly kind: 'folder';
  mode: number;
  readonly entries: Map<string, Folder | FileEntry | LinkEntry>;
}

const impliedMode = 0o755;
const newFolder = (mode = impliedMode): Folder => ({ kind: 'folder', mode, entries: new Map() });

const refused = (path: string, problem: string) =>
  new PerdureError('INVALID_INPUT', `${JSON.stringify(path)} ${problem}`, { details: { path } });

const place = (root: Folder, { path, entry }: PathEntry): void => {
  const parsed = parsePath(path);
  if ('problem' in parsed) throw refused(path, parsed.problem);
  const name = parsed.segments.at(-1);
  if (name === undefined) throw refused(path, 'names the worktree itself');
  let folder = root;
  for (const segment of parsed.segments.slice(0, -1)) {
    const next = folder.entries.get(segment) ?? newFolder();
    if (next.kind !== 'folder') throw refused(path, 'goes through a file or link where a folder is needed');
    folder.entries.set(segment, next);
    folder = next;
  }
  const there = folder.entries.get(name);
  if (there && (there.kind !== 'folder' || entry.kind !== 'folder')) throw refused(path, 'occurs twice in the list');
  if (entry.kind === 'link' && !isLinkTarget(entry.target)) throw refused(path, 'is a link with an invalid target');
  if (entry.kind !== 'folder') folder.entries.set(name, entry);
  else if (there?.kind === 'folder') there.mode = entry.mode;
  else folder.entries.set(name, newFolder(entry.mode));
};

/** Builds the trees for a list of paths. Rejects paths that leave the worktree or pass through a link. */
export const buildTrees = (paths: Iterable<PathEntry>): BuiltTrees => {
  const root = newFolder();
  for (const each of paths) place(root, each);
  const trees: NewBlob[] = [];
  const seal = (folder: Folder): NewBlob => {
    const entries = [...folder.entries].map(([name, entry]): [string, TreeEntry] => [
      name,
      entry.kind === 'folder' ? { kind: 'folder', mode: entry.mode, hash: seal(entry).hash } : entry,
    ]);
    const blob = blobOfTree(new Map(entries));
    trees.push(blob);
    return blob;
  };
  return { root: seal(root), trees };
};
