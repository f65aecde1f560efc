import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileSystemError, storeFailure } from './store-error.ts';

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Where links lead, also when nothing is there. */
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
  return hasLog && sizeOf(file) === 0; // a file that is being made has its first page before it has a log
};

/** Before SQLite looks: beside a file that is gone or empty it would remove the log, and with it what was acknowledged and is nowhere else. */
export const refuseOrphanedLog = (file: string): void => {
  try {
    if (!isOrphaned(file)) return;
  } catch (error) {
    throw fileSystemError(error, file);
  }
  throw storeFailure(
    'STORE_UNAVAILABLE',
    file,
    'it is gone or empty, and its -wal, which holds what was written last, is still there',
    {
      advice: 'nothing was changed: put the file back; for a new store, first move the -wal away',
    },
  );
};
