import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  fsync,
  mkdirSync,
  openSync,
  realpathSync,
} from 'node:fs';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { changedMeanwhile } from './worktree-error.ts';

/** A folder held by a file descriptor, so that operations stay in it even if its path changes meanwhile. */
export interface HeldFolder {
  /** The path of an entry directly in the folder. */
  at(name: string): string;
  mode(): number;
  setMode(mode: number): void;
  sync(): Promise<void>;
  close(): void;
}

const synced = promisify(fsync);
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const descriptors = '/proc/self/fd';
const hasDescriptors = existsSync(descriptors);

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

const openFolder = (path: string, makes: boolean): number => {
  const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  try {
    return openSync(path, flags);
  } catch (error) {
    if (!makes || !isMissing(error)) throw error;
    mkdirSync(path);
    return openSync(path, flags);
  }
};

const descend = (root: string, segments: readonly string[], makes: boolean): number => {
  let held = openSync(root, O_RDONLY | O_DIRECTORY);
  for (const segment of segments) {
    const above = held;
    try {
      held = openFolder(`${descriptors}/${above}/${segment}`, makes);
    } finally {
      closeSync(above);
    }
  }
  return held;
};

/**
 * Opens a folder on systems without /proc, where no path leads through a descriptor. Checks that the path contains no
 * link.
 */
const openChecked = (root: string, segments: readonly string[], makes: boolean): number => {
  const path = join(root, ...segments);
  if (makes) mkdirSync(path, { recursive: true });
  if (realpathSync(path) !== path) {
    throw Object.assign(new Error(`a part of ${path} is a symbolic link`), { code: 'ELOOP' });
  }
  return openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
};

/**
 * Opens and holds a folder. `root` must not contain a symbolic link. A link among the segments fails with ELOOP or
 * ENOTDIR. With `makes`, missing folders are created.
 */
export const holdFolder = (root: string, segments: readonly string[], makes = false): HeldFolder => {
  const descriptor = (hasDescriptors ? descend : openChecked)(root, segments, makes);
  const prefix = hasDescriptors ? `${descriptors}/${descriptor}` : join(root, ...segments);
  return {
    at: (name) => `${prefix}${sep}${name}`,
    mode: () => fstatSync(descriptor).mode & 0o777,
    setMode: (mode) => fchmodSync(descriptor, mode),
    sync: () => synced(descriptor),
    close: () => closeSync(descriptor),
  };
};

/** Like `holdFolder`, for a folder that was scanned before. Fails with a conflict if its path has changed. */
export const holdUnchanged = (root: string, path: string): HeldFolder => {
  try {
    return holdFolder(root, path === '' ? [] : path.split('/'));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw ['ELOOP', 'ENOTDIR', 'ENOENT'].includes(code) ? changedMeanwhile(path, error) : error;
  }
};

export const inHeld = (root: string, path: string, work: (folder: HeldFolder) => void): void => {
  const folder = holdUnchanged(root, path);
  try {
    work(folder);
  } finally {
    folder.close();
  }
};
