import { realpathSync, statSync } from 'node:fs';
import type { PerdureError } from '../../../schema/error.ts';
import { fileSystemError, storeFailure } from './store-error.ts';

/**
 * Device and inode of the file that the store's first connection opened; zeros until then. The store's threads share
 * this array.
 */
export type FileMark = BigUint64Array;

export const newFileMark = (): FileMark => new BigUint64Array(new SharedArrayBuffer(2 * 8));

/** Uses stat and never opens the file, because closing it again would release SQLite's locks of this process. */
const identify = (path: string): readonly [dev: bigint, ino: bigint] => {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found ? [found.dev, found.ino] : [0n, 0n];
  } catch (error) {
    throw fileSystemError(error, path);
  }
};

const replaced = (file: string): PerdureError =>
  storeFailure('STORE_UNAVAILABLE', file, 'it or its -wal was deleted or replaced while the store was open', {
    advice: 'nothing was written: put back what was there, or close the store and open it again',
  });

/** The first call that finds a file marks it. Later calls fail if the file is missing or was replaced. */
export const checkMark = (file: string, mark: FileMark): void => {
  const [dev, ino] = mark;
  const now = identify(file);
  if (ino === 0n) mark.set(now);
  else if (now[0] !== dev || now[1] !== ino) throw replaced(file);
};

export interface OpenedFiles {
  /** Call this at the end of a transaction, so that nothing is committed to files that other processes cannot find. */
  check(): void;
}

/** Call this after the connection's first read. From then on the -wal file exists, until all connections are closed. */
export const openedFiles = (file: string): OpenedFiles => {
  const paths = [file, `${realpathSync(file)}-wal`];
  const before = paths.flatMap(identify);
  return {
    check: () => {
      const now = paths.flatMap(identify);
      if (now.some((part, index) => part !== before[index])) throw replaced(file);
    },
  };
};
