import { PerdureError } from '../../schema/error.ts';
import type { BlobHash } from '../ports/blobs.ts';
import { childPath } from './path.ts';
import { isSameEntry, type Tree, type TreeEntry } from './tree.ts';

/** Told by the deepest path that differs; of a folder only itself, what it holds has changes of its own. */
export type FileChange =
  | { readonly change: 'created'; readonly path: string; readonly after: TreeEntry }
  | { readonly change: 'deleted'; readonly path: string; readonly before: TreeEntry }
  | {
      readonly change: 'modified' | 'mode-changed';
      readonly path: string;
      readonly before: TreeEntry;
      readonly after: TreeEntry;
    }
  | {
      readonly change: 'renamed';
      readonly path: string;
      readonly from: string;
      readonly before: TreeEntry;
      readonly after: TreeEntry;
    };

export type ReadTree = (hash: BlobHash) => Promise<Tree>;

const none: Tree = new Map();

const treeOf = async (entry: TreeEntry | undefined, read: ReadTree): Promise<Tree> =>
  entry?.kind === 'folder' ? read(entry.hash) : none;

const entryChanges = (path: string, before: TreeEntry | undefined, after: TreeEntry | undefined): FileChange[] => {
  if (!before) return after ? [{ change: 'created', path, after }] : [];
  if (!after) return [{ change: 'deleted', path, before }];
  if (before.kind === 'folder' && after.kind === 'folder') {
    return before.mode === after.mode ? [] : [{ change: 'mode-changed', path, before, after }];
  }
  if (before.kind === 'folder' || after.kind === 'folder') {
    return [
      { change: 'deleted', path, before },
      { change: 'created', path, after },
    ];
  }
  const isSameContent = before.kind === 'file' && after.kind === 'file' && before.hash === after.hash;
  return [{ change: isSameContent ? 'mode-changed' : 'modified', path, before, after }];
};

interface Side {
  readonly hash: BlobHash;
  readonly read: ReadTree;
}

/** A few small trees can stand for more paths than there are disks. */
const maxChanges = 1_000_000;

const addDifferences = async (
  all: FileChange[],
  path: string,
  [before, oldTree]: readonly [Side, Tree],
  [after, newTree]: readonly [Side, Tree],
): Promise<void> => {
  for (const name of [...new Set([...oldTree.keys(), ...newTree.keys()])].sort()) {
    const [old, now] = [oldTree.get(name), newTree.get(name)];
    if (old && now && isSameEntry(old, now)) continue;
    const at = childPath(path, name);
    all.push(...entryChanges(at, old, now));
    if (all.length > maxChanges) {
      throw new PerdureError('PAYLOAD_TOO_LARGE', `the snapshots differ in more than ${maxChanges} paths`);
    }
    if (old?.kind !== 'folder' && now?.kind !== 'folder') continue;
    const [oldBelow, newBelow] = [await treeOf(old, before.read), await treeOf(now, after.read)];
    await addDifferences(all, at, [before, oldBelow], [after, newBelow]);
  }
};

/** What leads from one tree to another, without renames: each path once, or twice where a folder came or went. Equal folders are not read. */
export const findChanges = async (before: Side, after: Side): Promise<readonly FileChange[]> => {
  const all: FileChange[] = [];
  if (before.hash === after.hash) return all;
  const [oldTree, newTree] = [await before.read(before.hash), await after.read(after.hash)];
  await addDifferences(all, '', [before, oldTree], [after, newTree]);
  return all;
};

/** An empty file could have come from any other. */
const contentOf = (entry: TreeEntry): string | undefined => {
  if (entry.kind === 'link') return `link ${entry.target}`;
  return entry.kind === 'file' && entry.size > 0 ? entry.hash : undefined;
};

const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

type Deleted = Extract<FileChange, { change: 'deleted' }>;

/** Of several with the same content, one that kept its name. */
const takeSource = (sources: Deleted[] | undefined, path: string): Deleted | undefined => {
  if (!sources || sources.length === 0) return undefined;
  const place = sources.findIndex((source) => baseName(source.path) === baseName(path));
  return sources.splice(Math.max(0, place), 1)[0];
};

/** Takes what was deleted and created with the same content for renamed. */
export const findRenames = (changes: readonly FileChange[]): readonly FileChange[] => {
  const deleted = new Map<string, Deleted[]>();
  for (const change of changes) {
    const content = change.change === 'deleted' ? contentOf(change.before) : undefined;
    if (content === undefined) continue;
    const sources = deleted.get(content);
    if (sources) sources.push(change as Deleted);
    else deleted.set(content, [change as Deleted]);
  }
  const moved = new Set<FileChange>();
  const withRenames = changes.map((change): FileChange => {
    const content = change.change === 'created' ? contentOf(change.after) : undefined;
    const source = content === undefined ? undefined : takeSource(deleted.get(content), change.path);
    if (!source || change.change !== 'created') return change;
    moved.add(source);
    return { change: 'renamed', path: change.path, from: source.path, before: source.before, after: change.after };
  });
  return withRenames.filter((change) => !moved.has(change));
};
