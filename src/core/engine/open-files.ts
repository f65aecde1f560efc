import { realpath, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import { Text } from '../../schema/json.ts';
import { bindFolder, refuseBoundBelow, releaseFolder } from '../files/disk/bound-folder.ts';
import { cloneRepository } from '../files/disk/clone-repository.ts';
import type { Cached } from '../files/disk/files-protocol.ts';
import { thisMachine } from '../files/disk/machine.ts';
import { makePlace, placeHere, placeOf, writeMark } from '../files/disk/place.ts';
import { lockPlace } from '../files/disk/place-lock.ts';
import { leftOutOf } from '../files/left-out.ts';
import { isOwnName, ownFolder } from '../files/path.ts';
import type { SessionKey } from '../ports/store.ts';
import { countChanges } from '../session/state/file-entries.ts';
import { keyOf, type LogAccess, type WorktreeAccess, type WriteAccess } from './scope.ts';

const Place = Text.min(1).max(4096);

/** What a session's files are at its beginning; nothing by default. */
export const FilesOption = z.union(
  [
    /** A copy of a folder. */
    z.strictObject({ from: Place }),
    /** A clone of a repository, at its default branch or at `ref`. */
    z.strictObject({ git: Place, ref: Text.min(1).max(500).optional() }),
    /** The folder itself: the session works in it, and no other does meanwhile. */
    z.strictObject({ cwd: Place }),
  ],
  { error: 'expected { from: FOLDER }, { git: REPOSITORY, ref? } or { cwd: FOLDER }' },
);
export type FilesOption = z.infer<typeof FilesOption>;

/** Whoever opens and closes the file of a SQLite store takes away the locks that its process holds. */
const refuseStoreIn = async ({ storeFile }: WorktreeAccess, folder: string): Promise<void> => {
  const file = storeFile && (await realpath(storeFile));
  const way = file ? relative(folder, file).split(sep) : ['..'];
  if (way[0] === '..' || way.some((name) => isOwnName(name)) || isAbsolute(way.join(sep))) return;
  throw new PerdureError(
    'INVALID_INPUT',
    `the store's own file lies in ${folder}: move it to ${folder}/${ownFolder}/`,
    {
      details: { folder, file },
    },
  );
};

const folderAt = async (scope: WorktreeAccess, path: string): Promise<string> => {
  const folder = await realpath(resolve(path)).catch(({ code }: NodeJS.ErrnoException) => {
    if (code !== 'ENOENT') return undefined;
    throw new PerdureError('FILE_NOT_FOUND', `there is no folder ${path}: name one that is there`, {
      details: { path },
    });
  });
  if (folder && folder === dirname(folder)) {
    throw new PerdureError('INVALID_INPUT', `${folder} is everything on this machine: name a folder of it`);
  }
  if (folder && (await stat(folder)).isDirectory()) {
    await refuseStoreIn(scope, folder);
    return folder;
  }
  throw new PerdureError('FILE_UNAVAILABLE', `${path} is not a folder that can be read`, { details: { path } });
};

type Origin = PayloadOf<'files.snapshotted'>['origin'];

/** What is in a folder, in the store; and as the first snapshot of the session. */
const snapshotOf = async (
  scope: WorktreeAccess & Pick<WriteAccess, 'actor'>,
  { folder, cacheFile }: { readonly folder: string } & Cached,
  origin: Origin,
): Promise<EventDraft<'files.snapshotted'>> => {
  const { forms: secrets } = await scope.secrets.redactor();
  const taken = await scope.worktrees.snapshot({ folder, cacheFile, secrets }, scope.blobs);
  const payload = { tree: taken.root, changed: countChanges(taken.changes), leftOut: leftOutOf(taken), origin };
  return { type: 'files.snapshotted', payload, actor: scope.actor, turn: 0 };
};

export const isAtWork = async (scope: LogAccess, key: SessionKey): Promise<boolean | undefined> => {
  const head = await scope.store.head(keyOf(scope, key.session));
  return head && head.summary.status !== 'closed' && head.summary.status !== 'archived';
};

/** No other session works in the folder, or further up, from then on until this one is closed. */
export const bindTo = (scope: LogAccess, key: SessionKey, folder: string): Promise<void> =>
  bindFolder(folder, key, (other) => isAtWork(scope, other));

const leavePatienceMs = 5000;

/** A session that is closed works in no folder. What a crash leaves of it there keeps nobody out, and goes with a collection. */
export const leaveFolder = async (scope: LogAccess & WorktreeAccess, key: SessionKey): Promise<void> => {
  const { boundTo } = await scope.folds.outline(key);
  const place = await placeHere(scope.data, key, boundTo);
  if (!place.isBound) return;
  try {
    await makePlace(place);
    using _lock = await lockPlace(place, leavePatienceMs);
    if (!(await isAtWork(scope, key))) await releaseFolder(place.folder, key);
  } catch (error) {
    scope.onWarning(error);
  }
};

/** The events that give a new session its files. What they name is in the store. */
export const openedFiles = async (
  scope: LogAccess & WorktreeAccess & Pick<WriteAccess, 'actor'>,
  key: SessionKey,
  option: FilesOption,
): Promise<readonly EventDraft[]> => {
  if ('from' in option) {
    const folder = await folderAt(scope, option.from);
    return [await snapshotOf(scope, { folder }, { kind: 'folder', path: folder })];
  }
  if ('cwd' in option) {
    const boundTo = { path: await folderAt(scope, option.cwd), machine: await thisMachine(scope.data) };
    const place = placeOf(scope.data, key, boundTo.path);
    await refuseBoundBelow(boundTo.path, (other) => isAtWork(scope, other));
    await bindTo(scope, key, boundTo.path);
    try {
      await makePlace(place);
      const taken = await snapshotOf(scope, place, { kind: 'folder', path: boundTo.path });
      await writeMark(place, { trees: [taken.payload.tree], seq: 1 });
      return [{ type: 'files.bound', payload: boundTo, actor: scope.actor, turn: 0 }, taken];
    } catch (error) {
      await releaseFolder(boundTo.path, key);
      throw error;
    }
  }
  const place = placeOf(scope.data, key);
  try {
    await makePlace(place);
    const cloned = await cloneRepository(option.git, option.ref, place.folder);
    const taken = await snapshotOf(scope, place, { kind: 'git', ...cloned });
    await writeMark(place, { trees: [taken.payload.tree], seq: 1 });
    return [taken];
  } catch (error) {
    await rm(place.home, { recursive: true, force: true });
    throw error;
  }
};
