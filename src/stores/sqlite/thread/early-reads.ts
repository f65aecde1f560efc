import { realpathSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { type ConnectionOptions, openConnection } from '../file/connection.ts';
import { isCurrent } from '../file/migrations.ts';
import { type Blobs, openBlobs } from '../log/blobs.ts';
import { type FirstReads, openFirstReads } from './first-reads.ts';

/** What a crash left in the log is read through when the file is opened: this much, a log of the usual size, takes some ten milliseconds. */
export const maxLogBytes = 20 * 1024 * 1024;
/** Of blobs, in all: they are unpacked and hashed. */
const maxBlobBytes = 1024 * 1024;

/** Reads on the event loop, by a connection of its own that waits for nobody. */
export interface EarlyReads {
  readonly operations: FirstReads;
  close(): void;
}

const openFewBlobs = (db: DatabaseSync): Blobs => {
  const blobs = openBlobs(db);
  let left = maxBlobBytes;
  return {
    ...blobs,
    read: (workspace, hash) => {
      left -= blobs.sizeOf(workspace, hash);
      if (left < 0) throw new Error('too much to be read on the event loop');
      return blobs.read(workspace, hash);
    },
  };
};

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Undefined where it could take long, as for a file to be made or brought up to date, and where anything is wrong: the thread says what. */
export const openEarlyReads = (options: ConnectionOptions & { readonly release: string }): EarlyReads | undefined => {
  const { file, release } = options;
  let opened: DatabaseSync | undefined;
  try {
    if (sizeOf(file) === 0 || sizeOf(`${realpathSync(file)}-wal`) > maxLogBytes) return undefined;
    const db = openConnection({ ...options, busyTimeoutMs: 0, asIs: true });
    opened = db;
    if (!isCurrent(db, file, release)) throw new Error('the schema is older');
    db.exec('PRAGMA query_only = 1');
    const { operations } = openFirstReads(db, openFewBlobs(db));
    return { operations, close: () => db.close() };
  } catch {
    opened?.close();
    return undefined;
  }
};
