import { PerdureError } from '../../../schema/error.ts';
import type { BlobHash, Blobs } from '../../ports/blobs.ts';
import { type FileChange, findChanges, findRenames, isPlaced, type PlacedChange } from '../changes.ts';
import { ignoredInTree } from '../ignored-in-tree.ts';
import { nameProblem, ownFolder } from '../path.ts';
import { readOnlyBlobs } from '../read-only-blobs.ts';
import { findEntry, type ReadTree, treeReader } from '../read-tree.ts';
import { isSameEntry, rootMode } from '../tree.ts';
import { ChangeApplier } from './apply-changes.ts';
import { Aside } from './aside.ts';
import { inPortions } from './in-portions.ts';
import type { Scanned, ScannedFolder } from './scan.ts';
import { scannedReader } from './scanned-reader.ts';
import { takeSnapshot, type WorktreeOptions } from './snapshot.ts';
import { Staging } from './staging.ts';
import type { StatCache } from './stat-cache.ts';
import { asWorktreeError, realFolder } from './worktree-error.ts';

export interface RestoreOptions extends WorktreeOptions {
  /** The snapshot to restore. */
  readonly root: BlobHash;
  /** Only reports what would change. */
  readonly dryRun?: boolean | undefined;
  /**
   * The folder to which files that block the restore are moved, on the same disk. Without it, such files make the
   * restore fail.
   */
  readonly aside?: string | undefined;
}

export interface Restored {
  /** The snapshot of the worktree before the restore. It is stored, except in a dry run. */
  readonly before: BlobHash;
  readonly changes: readonly FileChange[];
  /** Paths that no snapshot contains and that blocked the restore, or would block it. */
  readonly inTheWay: readonly string[];
  /** The folder to which these paths were moved. */
  readonly movedTo?: string | undefined;
}

/** Returns a function that checks whether the changes put something at a path, or put a file or link above it. */
const takenBy = (changes: readonly FileChange[]): ((path: string) => boolean) => {
  const placed = new Map(changes.filter(isPlaced).map(({ path, after }) => [path, after.kind]));
  return (path) => {
    const segments = path.split('/');
    const above = segments.map((_, index) => placed.get(segments.slice(0, index).join('/')));
    return placed.has(path) || above.some((kind) => kind === 'file' || kind === 'link');
  };
};

/** Removes deletions of paths that the snapshot's own ignore rules leave out, so that those paths are kept. */
const withoutIgnored = async (
  changes: readonly FileChange[],
  isIgnored: (path: string, isFolder: boolean) => Promise<boolean>,
): Promise<readonly FileChange[]> => {
  const isTaken = takenBy(changes);
  const kept: FileChange[] = [];
  for (const each of changes) {
    const stays =
      each.change === 'deleted' && !isTaken(each.path) && (await isIgnored(each.path, each.before.kind === 'folder'));
    if (!stays) kept.push(each);
  }
  return kept;
};

/** Returns the ignored paths that the changes replace. Their content is in no snapshot that a log names. */
const replacedBy = (changes: readonly FileChange[], ignored: ReadonlySet<string>): readonly string[] =>
  changes.flatMap((each) => {
    const isReplaced = each.change === 'modified' || (each.change === 'deleted' && each.before.kind !== 'folder');
    return isReplaced && ignored.has(each.path) ? each.path : [];
  });

/** Returns the changes that remain after some paths were moved aside. */
const withFreed = (changes: readonly FileChange[], freed: readonly string[]): readonly FileChange[] => {
  const paths = new Set(freed);
  return changes.flatMap((each): readonly FileChange[] => {
    if (!paths.has(each.path) || each.change === 'created') return [each];
    return isPlaced(each) ? [{ change: 'created', path: each.path, after: each.after }] : [];
  });
};

const assertPossible = (changes: readonly FileChange[], inTheWay: readonly string[], aside?: string): void => {
  if (inTheWay.length > 0 && aside === undefined) {
    const named = inTheWay.slice(0, 5).join(', ');
    throw new PerdureError('CONFLICT', `files that no snapshot holds are in the way: move ${named} elsewhere`, {
      details: { paths: inTheWay },
    });
  }
  for (const change of changes) {
    const problem = isPlaced(change) && nameProblem(change.path.slice(change.path.lastIndexOf('/') + 1));
    if (problem)
      throw new PerdureError('INVALID_INPUT', `${change.path} cannot be restored on this system: its name ${problem}`);
  }
};

/** The scan after the restore, computed without reading the disk. Files that were written have no stamp yet. */
const rescanned = async (
  hash: BlobHash,
  mode: number,
  now: Scanned | undefined,
  read: ReadTree,
): Promise<ScannedFolder> => {
  const known = now?.kind === 'folder' ? now.entries : new Map<string, Scanned>();
  if (now?.kind === 'folder' && now.hash === hash && now.mode === mode) return now;
  const entries = new Map<string, Scanned>();
  for (const [name, entry] of await read(hash)) {
    const there = known.get(name);
    if (entry.kind === 'folder') entries.set(name, await rescanned(entry.hash, entry.mode, there, read));
    else entries.set(name, there && isSameEntry(entry, there) ? there : entry);
  }
  return { kind: 'folder', mode, hash, entries };
};

/** Stages files while the worktree is being scanned: those that differ between the previous scan and the target. */
const stageAhead = async (staging: Staging, before: ScannedFolder, root: BlobHash, read: ReadTree): Promise<void> => {
  const foreseen = await findChanges({ hash: before.hash, read: scannedReader(before) }, { hash: root, read });
  const sizeOf = ({ after }: PlacedChange) => (after.kind === 'file' ? after.size : 0);
  const [portion = []] = inPortions(foreseen.filter(isPlaced), sizeOf);
  await staging.add(portion);
};

/**
 * Makes a worktree equal to a snapshot. The previous content is stored first, and left-out files are kept. A crash
 * leaves a mixture of both versions, each file complete, and another restore finishes the work.
 */
export const restoreSnapshot = async (
  { root, dryRun = false, aside, ...options }: RestoreOptions,
  cache: StatCache | undefined,
  blobs: Blobs,
): Promise<{ readonly restored: Restored; readonly cache: StatCache }> => {
  const read = treeReader(blobs);
  const folder = realFolder(options.folder);
  const staging = new Staging(folder, blobs);
  // A failure is ignored here. When the file is needed, it is staged again, and that failure is reported.
  const ahead = cache && !dryRun ? stageAhead(staging, cache.root, root, read).catch(() => undefined) : undefined;
  try {
    const isWanted = async (segments: readonly string[]) => (await findEntry(read, root, segments)) !== undefined;
    const taken = await takeSnapshot({ ...options, isWanted }, cache, dryRun ? readOnlyBlobs(blobs) : blobs);
    const scanned = taken.cache.root;
    const differences = await findChanges({ hash: scanned.hash, read: scannedReader(scanned) }, { hash: root, read });
    const changes = await withoutIgnored(differences, ignoredInTree(root, read, blobs));
    const leftOut = [...taken.leftOutPaths.keys()].filter(takenBy(changes));
    const own = changes.some(isPlaced) && !staging.hasRoom() ? [ownFolder] : [];
    const inTheWay = [...own, ...leftOut, ...replacedBy(changes, taken.wanted)];
    const restored = { before: scanned.hash, changes: findRenames(changes), inTheWay };
    if (dryRun) return { restored, cache: taken.cache };
    assertPossible(changes, inTheWay, aside);
    await ahead;
    const movedTo = await asWorktreeError(folder, async () => {
      const moved = new Aside(folder, aside ?? '');
      if (inTheWay.includes(ownFolder)) moved.move(ownFolder);
      await staging.add(changes.filter(isPlaced));
      for (const path of inTheWay) if (path !== ownFolder) moved.move(path);
      await new ChangeApplier(folder, scanned, staging).apply(withFreed(changes, inTheWay));
      return moved.folder;
    });
    return {
      restored: { ...restored, movedTo },
      cache: { ...taken.cache, root: await rescanned(root, rootMode, scanned, read) },
    };
  } finally {
    await ahead;
    if (!dryRun) staging.close();
  }
};
