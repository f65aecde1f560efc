import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import { isLinkTarget } from '../tree.ts';

/** Identifies a version of a file. While the stamp stays equal, the file is unchanged. */
export type Stamp = readonly [mtimeMs: number, ctimeMs: number, inode: number];

/** The part of a file's stats that makes up its stamp. */
interface Times {
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
}

export const stampOf = ({ mtimeMs, ctimeMs, ino }: Times): Stamp => [mtimeMs, ctimeMs, ino];
export const isSameStamp = (stamp: Stamp, { mtimeMs, ctimeMs, ino }: Times): boolean =>
  stamp[0] === mtimeMs && stamp[1] === ctimeMs && stamp[2] === ino;

export interface ReadFile {
  readonly bytes: Uint8Array;
  readonly mode: number;
  readonly stamp: Stamp;
  /** Whether a later change of the file could leave the stamp equal. */
  readonly isRacy: boolean;
}

/** The flags for opening a file. O_NONBLOCK, because opening a pipe without a writer would block forever. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const attempts = 3;
/** The longest clock tick of file timestamps. Some file systems have a resolution of two seconds. */
const tickMs = 100;
const wholeSecondsTickMs = 3000;

/** Whether the times are old enough to be trusted. A change in the same clock tick as the reading leaves them equal. */
export const isSettled = ({ mtimeMs, ctimeMs }: Pick<Times, 'mtimeMs' | 'ctimeMs'>, readAt: number): boolean => {
  const newest = Math.max(mtimeMs, ctimeMs);
  return newest < readAt - (newest % 1000 === 0 ? wholeSecondsTickMs : tickMs);
};

const readWhole = (file: number, size: number): Uint8Array => {
  const bytes = new Uint8Array(Buffer.allocUnsafeSlow(size).buffer);
  let filled = 0;
  while (filled < size) {
    const count = readSync(file, bytes, filled, size - filled, filled);
    if (count === 0) return bytes.slice(0, filled);
    filled += count;
  }
  return bytes;
};

const unreadable = (path: string, code: string): Error => Object.assign(new Error(`${path}: ${code}`), { code });

/** Reads a regular file, and retries a few times if it changes meanwhile. */
export const readFile = (path: string, maxBytes: number): ReadFile => {
  const file = openSync(path, flags);
  try {
    for (let attempt = 1; ; attempt++) {
      const readAt = Date.now();
      const before = fstatSync(file);
      if (!before.isFile()) throw unreadable(path, 'ENOTFILE');
      if (before.size > maxBytes) throw unreadable(path, 'EFBIG');
      const bytes = readWhole(file, before.size);
      const after = fstatSync(file);
      const isStill = isSameStamp(stampOf(before), after) && after.size === bytes.length;
      if (!isStill && attempt < attempts) continue;
      return { bytes, mode: after.mode & 0o777, stamp: stampOf(after), isRacy: !isStill || !isSettled(after, readAt) };
    }
  } finally {
    closeSync(file);
  }
};

/** Reads the target of a link. Returns undefined if it is not UTF-8, because a tree cannot store it. */
export const readLink = (path: string): string | undefined => {
  const bytes = readlinkSync(path, 'buffer');
  const target = bytes.toString('utf8');
  return Buffer.from(target).equals(bytes) && isLinkTarget(target) ? target : undefined;
};
