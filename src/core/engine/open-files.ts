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
import { keyOf, type LogAccess, type OutboundAccess, type WorktreeAccess, type WriteAccess } from './scope.ts';

const Place = Text.min(1).max(4096);

/** The initial files of a session. By default there are none. */
export const FilesOption = z.union(
  [
    /** A copy of a folder. */
    z.strictObject({ from: Place }),
    /** A clone of a repository, at its default branch or at `ref`. */
    z.strictObject({ git: Place, ref: Text.min(1).max(500).optional() }),
    /** The folder itself. The session works in this folder, and no other session may use it at the same time. */
    z.strictObject({ cwd: Place }),
  ],
  { error: 'expected { from: FOLDER }, { git: REPOSITORY, ref? } or { cwd: FOLDER }' },
);
export type FilesOption = z.infer<typeof FilesOption>;

/**
 * Rejects a folder that contains the file of a SQLite store. Opening and closing that file for a snapshot would
 * release the locks that this process holds on it.
 */
const refuseStoreIn = async ({ storeFile }: WorktreeAccess, folder: string): Promise<void> => {
  const file = storeFile && (await realpath(storeFile));
  const way = file ? relative(folder, file).split(sep) : ['..'];
  if (way[0] === '..' || way.some((name) => isOwnName(name)) || isAbsolute(way.join(sep))) return;
  throw new PerdureError('INVALID_INPUT', `the store's own file is in ${folder}: move it to ${folder}/${ownFolder}/`, {
    details: { folder, file },
  });
};

const folderAt = async (scope: WorktreeAccess, path: string): Promise<string> => {
  const folder = await realpath(resolve(path)).catch(({ code }: NodeJS.ErrnoException) => {
    if (code !== 'ENOENT') return undefined;
    throw new PerdureError('FILE_NOT_FOUND', `there is no folder ${path}: name an existing folder`, {
      details: { path },
    });
  });
  if (folder && folder === dirname(folder)) {
    throw new PerdureError('INVALID_INPUT', `${folder} is the root of the file system: name a folder in it`);
  }
  if (folder && (await stat(folder)).isDirectory()) {
    await refuseStoreIn(scope, folder);
    return folder;
  }
  throw new PerdureError('FILE_UNAVAILABLE', `${path} is not a readable folder: name one that this user can read`, {
    details: { path },
  });
};

type Origin = PayloadOf<'files.snapshotted'>['origin'];

/** Stores the content of a folder, and returns the event of the session's first snapshot. */
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

/** Binds the folder: until this session is closed, no other session can work in it or in a subfolder. */
export const bindTo = (scope: LogAccess, key: SessionKey, folder: string): Promise<void> =>
  bindFolder(folder, key, (other) => isAtWork(scope, other));

const leavePatienceMs = 5000;

/**
 * Releases the folder of a closed session. A crash before the release leaves a binding that blocks no other session,
 * and a collection removes it.
 */
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

/** Returns the events that record the initial files of a new session. The blobs that they name are already stored. */
export const openedFiles = async (
  scope: LogAccess & WorktreeAccess & OutboundAccess & Pick<WriteAccess, 'actor' | 'caller'>,
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
    // A caller with a key is not the program: its address is one that a workspace gives.
    const policy = scope.caller.key === undefined ? undefined : scope.outbound;
    const cloned = await cloneRepository(option.git, option.ref, place.folder, policy);
    const taken = await snapshotOf(scope, place, { kind: 'git', ...cloned });
    await writeMark(place, { trees: [taken.payload.tree], seq: 1 });
    return [taken];
  } catch (error) {
    await rm(place.home, { recursive: true, force: true });
    throw error;
  }
};
