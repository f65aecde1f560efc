import { accessSync, constants, readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { PerdureError } from '../../../schema/error.ts';
import { targetOf } from './orphaned-log.ts';
import { RoundingDatabase } from './rounding-database.ts';
import { storeFailure } from './store-error.ts';

/**
 * Types of file systems, as statfs reports them, that only this machine changes. Others belong to a server, a program,
 * a cluster or, for overlays, to the folders below.
 */
const localTypes: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
  0x01021994, // tmpfs
  0x73717368, // SquashFS
  0xe0f5e1e2, // EROFS
  0x9660, // ISO 9660
  0x15013346, // UDF
  0x4d44, // FAT
  0x2011bab0, // exFAT
]);

const folderOf = (file: string): string => dirname(targetOf(file));

/** Whether the folder is mounted read-only. A folder that this user may not write returns false. */
export const isMountedReadOnly = (file: string): boolean => {
  try {
    accessSync(folderOf(file), constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
};

const deviceName = (dev: bigint): string => {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn);
  return `${major}:${minor}`;
};

/** Reads the options after the separator, which all mounts of the file system share. */
const isReadOnlyEverywhere = (mounts: string, device: string): boolean => {
  const mount = mounts.split('\n').find((line) => line.split(' ')[2] === device);
  const [, , options] = mount?.split(' - ')[1]?.split(' ') ?? [];
  return options?.split(',').includes('ro') ?? false;
};

/**
 * Whether no process can change the file. A read-only mount alone does not prove that: a bind mount or a container's
 * volume may be read-only here and writable elsewhere. Only Linux tells them apart.
 */
export const isFrozen = (file: string): boolean => {
  if (!isMountedReadOnly(file)) return false;
  try {
    const folder = folderOf(file);
    if (!localTypes.has(statfsSync(folder).type >>> 0)) return false;
    const { dev } = statSync(folder, { bigint: true });
    if (statSync(file, { bigint: true }).dev !== dev) return false; // the file alone is mounted from elsewhere
    return isReadOnlyEverywhere(readFileSync('/proc/self/mountinfo', 'utf8'), deviceName(dev));
  } catch {
    return false;
  }
};

const elsewhere = 'copy it to a writable disk, with its -wal if there is one, and open the copy';

export const acceptsNoWrites = (file: string): PerdureError =>
  storeFailure('STORE_UNAVAILABLE', file, 'it accepts no writes, because its file system is mounted read-only', {
    advice: `nothing was written: ${elsewhere}`,
  });

export const olderOnReadOnlyMount = (file: string): PerdureError =>
  storeFailure('STORE_UNAVAILABLE', file, 'its schema is older, and its file system is mounted read-only', {
    advice: `open it once with this release on a writable disk, which migrates it: ${elsewhere}`,
  });

export const mayChangeElsewhere = (file: string, cause: unknown): PerdureError =>
  storeFailure('STORE_UNAVAILABLE', file, 'it is mounted read-only, and other processes may still change it', {
    cause,
    advice: 'copy it with `perdure backup` where it is writable, and open the copy',
  });

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** SQLite ignores the logs of an immutable file, so a log that holds commits is refused. */
const refuseUnread = (file: string): void => {
  const unread = ['-wal', '-journal'].find((suffix) => sizeOf(`${targetOf(file)}${suffix}`) > 0);
  if (!unread) return;
  throw storeFailure(
    'STORE_UNAVAILABLE',
    file,
    `its ${unread} has writes that cannot be read while its file system is mounted read-only`,
    {
      advice: 'copy both files to a writable disk, and open the copy',
    },
  );
};

/** A connection to a file that no process can change. */
export class FrozenDatabase extends RoundingDatabase {
  readonly #file: string;

  constructor(file: string) {
    refuseUnread(file);
    const url = pathToFileURL(file);
    url.searchParams.set('immutable', '1');
    super(url, { readOnly: true, enableForeignKeyConstraints: false });
    this.#file = file;
  }

  /** Rejects reads after the file system was mounted anew for writing, because nothing reports changes to them. */
  check(): void {
    if (isMountedReadOnly(this.#file)) return;
    throw storeFailure('STORE_UNAVAILABLE', this.#file, 'its file system was read-only and has become writable', {
      advice: 'close the store and open it again',
    });
  }
}
