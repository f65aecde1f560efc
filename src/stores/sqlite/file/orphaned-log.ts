import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileSystemError, storeFailure } from './store-error.ts';

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Resolves symbolic links, even if nothing exists at the target. */
export const targetOf = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    try {
      return targetOf(resolve(dirname(path), readlinkSync(path)));
    } catch {
      return path;
    }
  }
};

const isOrphaned = (file: string): boolean => {
  if (sizeOf(file) > 0) return false;
  const hasLog = sizeOf(`${targetOf(file)}-wal`) > 0;
  return hasLog && sizeOf(file) === 0; // re-checked: a new file gets its first page before its write-ahead log
};

/**
 * Must run before SQLite opens the file. If the file is missing or empty, SQLite would delete the write-ahead log, the
 * only copy of acknowledged events.
 */
export const refuseOrphanedLog = (file: string): void => {
  try {
    if (!isOrphaned(file)) return;
  } catch (error) {
    throw fileSystemError(error, file);
  }
  throw storeFailure(
    'STORE_UNAVAILABLE',
    file,
    'it is missing or empty, but its -wal, which holds the latest writes, is still there',
    {
      advice: 'nothing was changed: put the file back; for a new store, first move the -wal away',
    },
  );
};
