import { readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { PerdureError } from '../../schema/error.ts';
import { SessionId } from '../../schema/ids.ts';
import { readBlobEvents } from '../engine/blob-events.ts';
import { isAtWork, leaveFolder } from '../engine/open-files.ts';
import { keyOf, type LogAccess, type WorktreeAccess, type WriteAccess } from '../engine/scope.ts';
import { homesOf, placeHere, placeIn } from '../files/disk/place.ts';
import { asWorktreeError } from '../files/disk/worktree-error.ts';
import { leftOutOf } from '../files/left-out.ts';
import { readOnlyBlobs } from '../files/read-only-blobs.ts';
import { treeOf } from '../files/tree.ts';
import type { BlobHash } from '../ports/blobs.ts';
import type { SessionKey } from '../ports/store.ts';

/** A worktree of an archived session. */
export interface OldWorktree {
  readonly session: SessionId;
  readonly folder: string;
  /** Why it is kept. Absent if it is removed. */
  readonly stays?: string;
}

const asideDays = 30;
const dayMs = 86_400_000;

/**
 *  home ──▶ home.leaving ──▶ home.gone ──▶ nothing
 *    ◀── holds something else
 *
 * Once a home has been moved, a worker of its session creates a new one. No session uses a home whose name ends in
 * `.gone`.
 */
const leaving = (home: string): string => `${home}.leaving`;
const gone = (home: string): string => `${home}.gone`;

const erase = (folder: string): Promise<void> =>
  asWorktreeError(folder, () => rm(folder, { recursive: true, force: true }));

const namesIn = async (folder: string): Promise<readonly string[]> => {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
};

export type CollectAccess = LogAccess & WorktreeAccess & Pick<WriteAccess, 'clock'>;

const isNamed = async (scope: LogAccess, key: SessionKey, tree: BlobHash): Promise<boolean> => {
  if (treeOf(await scope.folds.head(key)) === tree) return true;
  for await (const { named } of readBlobEvents(scope.store, key.workspace, key.session)) {
    if (named.kind === 'tree' && named.hash === tree) return true;
  }
  return false;
};

/** Returns why files that were moved aside must be kept. They are in no snapshot, so they are kept for some time. */
const asideProblem = async ({ clock }: Pick<WriteAccess, 'clock'>, aside: string): Promise<string | undefined> => {
  const keptSince = clock.now() - asideDays * dayMs;
  for (const name of await namesIn(aside)) {
    const { mtimeMs } = await stat(join(aside, name));
    if (mtimeMs > keptSince) return `files that were moved to ${aside} are kept for ${asideDays} days`;
  }
  return undefined;
};

/**
 * Returns why the files of a worktree must be kept. Reads every file, because a removal must not rely on an earlier
 * scan.
 */
const filesProblem = async (
  scope: LogAccess & WorktreeAccess,
  key: SessionKey,
  home: string,
): Promise<string | undefined> => {
  const { folder } = placeIn(home);
  if ((await namesIn(folder)).length === 0) return undefined;
  const base = treeOf(await scope.folds.head(key));
  const options = { folder, base, secrets: (await scope.secrets.redactor()).forms };
  const there = await scope.worktrees.snapshot(options, readOnlyBlobs(scope.blobs));
  const leftOut = Object.values(leftOutOf(there)).flatMap(({ paths }) => paths);
  if (leftOut.length > 0) return `it contains files that snapshots leave out: ${leftOut.slice(0, 5).join(', ')}`;
  return (await isNamed(scope, key, there.root)) ? undefined : 'it contains files that no snapshot has';
};

/** Returns why a home must be kept. Returns undefined if everything in it is in the log. */
const problemWith = async (scope: CollectAccess, key: SessionKey, home: string): Promise<string | undefined> => {
  try {
    return await asWorktreeError(
      placeIn(home).folder,
      async () => (await asideProblem(scope, placeIn(home).aside!)) ?? (await filesProblem(scope, key, home)),
    );
  } catch (error) {
    if (error instanceof PerdureError && !error.code.startsWith('STORE_')) return error.message;
    throw error;
  }
};

const isArchived = async ({ store }: LogAccess, key: SessionKey): Promise<boolean> =>
  (await store.head(key))?.summary.status === 'archived';

/** Moves a home. Tolerates concurrent collections, and a session that already works in a new home. */
const move = async (from: string, to: string): Promise<'moved' | 'is gone' | 'is taken'> => {
  try {
    await rename(from, to);
    return 'moved';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return 'is gone';
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return 'is taken';
    throw error;
  }
};

/** Removes a home that was moved away, or puts it back if it must be kept. */
const settleMoved = async (scope: CollectAccess, key: SessionKey, home: string): Promise<OldWorktree> => {
  const { session } = key;
  const stays = (await isArchived(scope, key))
    ? await problemWith(scope, key, leaving(home))
    : 'its session is no longer archived';
  if (stays !== undefined) {
    const at = (await move(leaving(home), home)) === 'is taken' ? leaving(home) : home;
    return { session, folder: placeIn(at).folder, stays };
  }
  await move(leaving(home), gone(home));
  await erase(gone(home));
  return { session, folder: placeIn(home).folder };
};

const judge = async (scope: CollectAccess, key: SessionKey, home: string): Promise<OldWorktree> => {
  const stays = await problemWith(scope, key, home);
  return { session: key.session, folder: placeIn(home).folder, ...(stays !== undefined && { stays }) };
};

const collectHome = async (
  scope: CollectAccess,
  key: SessionKey,
  home: string,
  dryRun: boolean,
): Promise<OldWorktree> => {
  const judged = await judge(scope, key, home);
  if (dryRun || judged.stays !== undefined) return judged;
  if ((await move(home, leaving(home))) === 'is taken') return { ...judged, stays: `${leaving(home)} still exists` };
  return settleMoved(scope, key, home);
};

/** Removes the worktrees of archived sessions. Considers only folders of sessions in this store. */
export const collectWorktrees = async (scope: CollectAccess, dryRun: boolean): Promise<readonly OldWorktree[]> => {
  const homes = homesOf(scope.data, scope.workspace);
  const names = new Set(await namesIn(homes));
  const sessions = new Set([...names].map((name) => name.replace(/\.(leaving|gone)$/, '')));
  const found: OldWorktree[] = [];
  for (const session of [...sessions].filter((name): name is SessionId => SessionId.safeParse(name).success).sort()) {
    const key = keyOf(scope, session);
    const isNeeded = await isAtWork(scope, key);
    if (isNeeded === undefined) continue;
    const home = join(homes, session);
    if (!dryRun && !isNeeded) await leaveFolder(scope, key);
    if (!dryRun) await erase(gone(home));
    if (names.has(basename(leaving(home)))) {
      found.push(dryRun ? await judge(scope, key, leaving(home)) : await settleMoved(scope, key, home));
    }
    const { boundTo } = await scope.folds.outline(key);
    const { isBound } = await placeHere(scope.data, key, boundTo);
    if (!names.has(session) || isBound || !(await isArchived(scope, key))) continue;
    found.push(await collectHome(scope, key, home, dryRun));
  }
  return found;
};
