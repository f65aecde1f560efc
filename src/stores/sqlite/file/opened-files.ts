import { realpathSync, statSync } from 'node:fs';
import type { PerdureError } from '../../../schema/error.ts';
import { fileSystemError, storeFailure } from './store-error.ts';

/** The device and the number of the file that the first connection of a store opened; zeros before. Shared by its threads. */
export type FileMark = BigUint64Array;

export const newFileMark = (): FileMark => new BigUint64Array(new SharedArrayBuffer(2 * 8));

/** Never by opening it: closing it again would give up the locks that SQLite holds for this process. */
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

/** The first call that finds a file marks it; later ones fail when they find another, or none. */
export const checkMark = (file: string, mark: FileMark): void => {
  const [dev, ino] = mark;
  const now = identify(file);
  if (ino === 0n) mark.set(now);
  else if (now[0] !== dev || now[1] !== ino) throw replaced(file);
};

export interface OpenedFiles {
  /** At the end of a transaction, before it is committed to files that nobody else would find. */
  check(): void;
}

/** When the connection has read something: the log of what is written ahead is there from then on, until all have closed the file. */
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
