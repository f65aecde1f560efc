import { closeSync, openSync, statSync } from 'node:fs';
import { refuseOrphanedLog, targetOf } from './orphaned-log.ts';
import { fileSystemError, isFolder } from './store-error.ts';

const makePrivate = (file: string): void => {
  try {
    closeSync(openSync(targetOf(file), 'wx', 0o600));
  } catch (error) {
    const isMadeByOthers = (error as NodeJS.ErrnoException).code === 'EEXIST';
    if (!isMadeByOthers) throw fileSystemError(error, file);
  }
};

/**
 * For its user alone, where there is none: SQLite would let everybody read it, and gives what it makes beside it the same mode. Before a
 * thread opens it: closing it here would give up its locks.
 */
export const makeFile = (file: string): void => {
  refuseOrphanedLog(file);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw isFolder(file);
  if (!found) makePrivate(file);
};
