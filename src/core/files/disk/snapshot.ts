import type { BlobHash, Blobs } from '../../ports/blobs.ts';
import { maxContentBytes } from '../content-bytes.ts';
import { type LeftOut, type LeftOutReason, summarizeLeftOut } from '../left-out.ts';
import { type Scan, type Scanned, type ScannedFolder, type ScanOptions, scanFolder, unknownHash } from './scan.ts';
import { isSealOf, type StatCache, sealSecrets } from './stat-cache.ts';
import { Uploads } from './uploads.ts';
import { asWorktreeError, realFolder } from './worktree-error.ts';

export interface WorktreeOptions {
  readonly folder: string;
  /**
   * The newest snapshot of this worktree that a log names or that was just taken, so that its content is certainly in
   * the store.
   */
  readonly base?: BlobHash | undefined;
  readonly maxFileBytes?: number | undefined;
  /** Known secrets. A file that contains one is left out. */
  readonly secrets?: readonly string[] | undefined;
}

export interface Snapshot {
  /** The hash of the worktree's tree. */
  readonly root: BlobHash;
  readonly leftOut: LeftOut;
}

/** A snapshot and the cache for the next one. */
export interface Taken extends Pick<Scan, 'wanted'> {
  readonly snapshot: Snapshot;
  readonly cache: StatCache;
  readonly leftOutPaths: ReadonlyMap<string, LeftOutReason>;
}

const hashesOf = (entry: Scanned): readonly BlobHash[] => {
  if (entry.kind === 'link') return [];
  return entry.kind === 'file' ? [entry.hash] : [entry.hash, ...[...entry.entries.values()].flatMap(hashesOf)];
};

const without = (folder: ScannedFolder, there: ReadonlySet<BlobHash>): ScannedFolder => {
  const entries = [...folder.entries].flatMap(([name, entry]): [string, Scanned][] => {
    if (entry.kind === 'folder') return [[name, without(entry, there)]];
    return entry.kind === 'link' || there.has(entry.hash) ? [[name, entry]] : [];
  });
  const stamp = entries.length === folder.entries.size ? folder.stamp : undefined;
  return { ...folder, stamp, hash: there.has(folder.hash) ? folder.hash : unknownHash, entries: new Map(entries) };
};

/**
 * Returns the part of the cached scan whose content is certainly stored. If no log names that snapshot, this queries
 * the store.
 */
const trusted = async (
  cache: StatCache | undefined,
  { base, secrets = [] }: WorktreeOptions,
  blobs: Blobs,
): Promise<ScannedFolder | undefined> => {
  if (!cache || !isSealOf(cache.secrets, secrets)) return undefined;
  if (cache.root.hash === base) return cache.root;
  return without(cache.root, await blobs.hasBlobs([...new Set(hashesOf(cache.root))]));
};

const taken = ({ root, leftOut, wanted }: Scan, cache: StatCache | undefined, secrets: readonly string[]): Taken => ({
  snapshot: { root: root.hash, leftOut: summarizeLeftOut(leftOut) },
  cache: { root, secrets: cache && isSealOf(cache.secrets, secrets) ? cache.secrets : sealSecrets(secrets) },
  leftOutPaths: leftOut,
  wanted,
});

/** Takes a snapshot. When it returns, everything that the snapshot names is in the store. */
export const takeSnapshot = async (
  options: WorktreeOptions & Pick<ScanOptions, 'isWanted'>,
  cache: StatCache | undefined,
  blobs: Blobs,
): Promise<Taken> => {
  const { maxFileBytes = maxContentBytes, secrets = [], isWanted } = options;
  const folder = realFolder(options.folder);
  const previous = await trusted(cache, options, blobs);
  await using uploads = new Uploads(blobs);
  const found: ScanOptions['found'] = (blob) => uploads.add(blob);
  const scan = await asWorktreeError(folder, () =>
    scanFolder({ folder, previous, maxFileBytes, secrets, found, isWanted }),
  );
  await uploads.finish();
  return taken(scan, cache, secrets);
};
