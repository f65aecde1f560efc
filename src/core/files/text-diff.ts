import { formatPatch, type StructuredPatchHunk, structuredPatch } from 'diff';
import type { BlobHash } from '../ports/blobs.ts';
import type { FileChange } from './changes.ts';
import type { TreeEntry } from './tree.ts';

/**
 * One hunk of a diff. Lines begin with a space, `-` or `+` as in a unified diff. `\` marks that the last line has no
 * newline.
 */
export interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: readonly string[];
}

/** `too-large` means that the size or the number of differing lines exceeds the limit. */
export type ContentDiff =
  | { readonly kind: 'text'; readonly hunks: readonly Hunk[] }
  | { readonly kind: 'binary' }
  | { readonly kind: 'too-large' };

export interface FileDiff {
  readonly change: FileChange;
  /** The diff of the content. Absent for folders, and if the content is equal. */
  readonly content?: ContentDiff;
  /** A diff in git's format, which git and patch can apply. Empty for folders. */
  readonly unified: string;
}

export type ReadBlob = (hash: BlobHash) => Promise<Uint8Array>;

const maxTextBytes = 2 * 1024 * 1024;
const maxEdits = 20_000;
const maxMs = 1000;
const contextLines = 3;

const textOf = (bytes: Uint8Array): string | undefined => {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
};

const bytesOf = async (entry: TreeEntry | undefined, read: ReadBlob): Promise<Uint8Array> => {
  if (entry?.kind === 'link') return Buffer.from(entry.target);
  return entry?.kind === 'file' ? read(entry.hash) : new Uint8Array();
};

const diffContent = (before: Uint8Array, after: Uint8Array): ContentDiff => {
  if (before.length > maxTextBytes || after.length > maxTextBytes) return { kind: 'too-large' };
  const [old, now] = [textOf(before), textOf(after)];
  if (old === undefined || now === undefined) return { kind: 'binary' };
  const bounds = { context: contextLines, maxEditLength: maxEdits, timeout: maxMs };
  const patch = structuredPatch('', '', old, now, undefined, undefined, bounds);
  return patch ? { kind: 'text', hunks: patch.hunks } : { kind: 'too-large' };
};

/** Git records only whether a file is executable, not the rest of its mode. */
const gitMode = (entry: TreeEntry): string => {
  if (entry.kind === 'link') return '120000';
  return entry.mode & 0o100 ? '100755' : '100644';
};

type Side = readonly [path: string, entry: TreeEntry];
type Sides = readonly [before: Side | undefined, after: Side | undefined];

const sidesOf = (change: FileChange): Sides => {
  const before = 'before' in change ? change.before : undefined;
  const after = 'after' in change ? change.after : undefined;
  const from = change.change === 'renamed' ? change.from : change.path;
  return [before && [from, before], after && [change.path, after]];
};

const isFolder = (side: Side | undefined): boolean => side?.[1].kind === 'folder';

const patchOf = ([before, after]: Sides, content?: ContentDiff): string => {
  const [oldPath, newPath] = [before?.[0] ?? after![0], after?.[0] ?? before![0]];
  const [oldMode, newMode] = [before && gitMode(before[1]), after && gitMode(after[1])];
  const patch = formatPatch({
    isGit: true,
    oldFileName: before ? `a/${oldPath}` : '/dev/null',
    newFileName: after ? `b/${newPath}` : '/dev/null',
    oldHeader: undefined,
    newHeader: undefined,
    hunks: content?.kind === 'text' ? (content.hunks as StructuredPatchHunk[]) : [],
    ...(oldMode !== newMode && { ...(oldMode && { oldMode }), ...(newMode && { newMode }) }),
    ...(!before && { isCreate: true }),
    ...(!after && { isDelete: true }),
    ...(oldPath !== newPath && { isRename: true }),
  });
  return content && content.kind !== 'text' ? `${patch}Binary files differ\n` : patch;
};

const diffSides = async (sides: Sides, read: ReadBlob): Promise<Omit<FileDiff, 'change'>> => {
  const [before, after] = sides;
  const content = diffContent(await bytesOf(before?.[1], read), await bytesOf(after?.[1], read));
  return { content, unified: patchOf(sides, content) };
};

export const diffFile = async (change: FileChange, read: ReadBlob): Promise<FileDiff> => {
  const sides = sidesOf(change);
  const [before, after] = sides;
  if (isFolder(before) || isFolder(after)) return { change, unified: '' };
  if (change.change === 'renamed' || change.change === 'mode-changed') return { change, unified: patchOf(sides) };
  const diff = await diffSides(sides, read);
  if (!before || !after || before[1].kind === after[1].kind) return { change, ...diff };
  // Git treats a link that became a file as a deletion and a creation.
  const [gone, come] = [await diffSides([before, undefined], read), await diffSides([undefined, after], read)];
  return { change, ...diff, unified: gone.unified + come.unified };
};
