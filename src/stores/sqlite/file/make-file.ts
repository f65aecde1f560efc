import { closeSync, openSync, statSync } from 'node:fs';
import { refuseOrphanedLog, targetOf } from './orphaned-log.ts';
import { fileSystemError, isFolder } from './store-error.ts';

/** Whether opening creates the store. Errors return false, because making the file reports them. */
export const isMissingOrEmpty = (file: string): boolean => {
  try {
    return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0;
  } catch {
    return false;
  }
};

const makePrivate = (file: string): void => {
  try {
    closeSync(openSync(targetOf(file), 'wx', 0o600));
  } catch (error) {
    const isMadeByOthers = (error as NodeJS.ErrnoException).code === 'EEXIST';
    if (!isMadeByOthers) throw fileSystemError(error, file);
  }
};

/**
 * Creates a missing file for its user alone, because SQLite would make it readable for everyone. SQLite gives the
 * -wal and -shm files the same mode. This must run before a thread opens the file, because closing it here would
 * release the thread's locks.
 */
export const makeFile = (file: string): void => {
  refuseOrphanedLog(file);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw isFolder(file);
  if (!found) makePrivate(file);
};
