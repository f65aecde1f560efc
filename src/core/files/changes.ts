import { PerdureError } from '../../schema/error.ts';
import type { ChangedFile } from '../../schema/state.ts';
import type { BlobHash } from '../ports/blobs.ts';
import { childPath } from './path.ts';
import { heldBy, type ReadTree } from './read-tree.ts';
import { isSameEntry, rootEntry, type Tree, type TreeEntry } from './tree.ts';

/**
 * A change of one path. A change of a folder covers only the folder itself, because changes of its content are listed
 * separately.
 */
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

export type PlacedChange = Extract<FileChange, { after: unknown }>;
export const isPlaced = (change: FileChange): change is PlacedChange => 'after' in change;

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

/**
 * The maximum number of changes. It is limited because a few small trees that name each other repeatedly can expand to
 * any number of paths.
 */
const maxChanges = 1_000_000;
const readAtOnce = 256;

interface Pair {
  readonly path: string;
  readonly before: TreeEntry | undefined;
  readonly after: TreeEntry | undefined;
}

const pairsIn = (path: string, before: Tree, after: Tree): readonly Pair[] =>
  [...new Set([...before.keys(), ...after.keys()])].flatMap((name): Pair[] => {
    const [old, now] = [before.get(name), after.get(name)];
    return isSameEntry(old, now) ? [] : [{ path: childPath(path, name), before: old, after: now }];
  });

const isFolder = ({ before, after }: Pair): boolean => before?.kind === 'folder' || after?.kind === 'folder';

/** Sorts by path, each folder right before its content. */
const inOrder = (changes: readonly FileChange[]): readonly FileChange[] =>
  changes
    .map((change) => ({ change, key: change.path.replaceAll('/', '\0') }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ change }) => change);

/**
 * Returns the changes between two trees, without renames. A path occurs twice if a folder replaced a file, or a file
 * replaced a folder. Equal folders are not read. Other folders are read in parallel.
 */
export const findChanges = async (before: Side, after: Side): Promise<readonly FileChange[]> => {
  const changes: FileChange[] = [];
  const folders: Pair[] = [{ path: '', before: rootEntry(before.hash), after: rootEntry(after.hash) }];
  while (before.hash !== after.hash && folders.length > 0) {
    const read = folders.splice(-readAtOnce).map(async ({ path, before: old, after: now }) => {
      const [oldTree, newTree] = await Promise.all([heldBy(before.read, old), heldBy(after.read, now)]);
      return pairsIn(path, oldTree, newTree);
    });
    for (const pair of (await Promise.all(read)).flat()) {
      changes.push(...entryChanges(pair.path, pair.before, pair.after));
      if (isFolder(pair)) folders.push(pair);
    }
    if (changes.length > maxChanges) {
      throw new PerdureError(
        'PAYLOAD_TOO_LARGE',
        `the snapshots differ in more than ${maxChanges} paths: compare a single folder instead`,
      );
    }
  }
  return inOrder(changes);
};

/** The changes of files and links, in the form that the state records. */
export const changedFiles = (changes: readonly FileChange[]): readonly ChangedFile[] =>
  changes.flatMap((each): ChangedFile[] => {
    if (((isPlaced(each) ? each.after : each.before) satisfies TreeEntry).kind === 'folder') return [];
    const change = each.change === 'mode-changed' ? 'modified' : each.change;
    return [{ path: each.path, change, ...(each.change === 'renamed' && { from: each.from }) }];
  });

/**
 * The identity of content for rename detection. Empty files have no identity, because any empty file could be the
 * source.
 */
const contentOf = (entry: TreeEntry): string | undefined => {
  if (entry.kind === 'link') return `link ${entry.target}`;
  return entry.kind === 'file' && entry.size > 0 ? entry.hash : undefined;
};

const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

type Deleted = Extract<FileChange, { change: 'deleted' }>;

/** Removes and returns one of the deleted files with this content, preferably one with the same file name. */
const takeSource = (sources: Deleted[] | undefined, path: string): Deleted | undefined => {
  if (!sources || sources.length === 0) return undefined;
  const place = sources.findIndex((source) => baseName(source.path) === baseName(path));
  return sources.splice(Math.max(0, place), 1)[0];
};

/** Merges a deletion and a creation with the same content into a rename. */
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
