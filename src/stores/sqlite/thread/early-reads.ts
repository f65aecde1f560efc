import { realpathSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { type ConnectionOptions, openConnection } from '../file/connection.ts';
import { isCurrent } from '../file/migrations.ts';
import { isMountedReadOnly } from '../file/read-only-mount.ts';
import { type Blobs, openBlobs } from '../log/blobs.ts';
import { type FirstReads, openFirstReads } from './first-reads.ts';

/**
 * Opening a file reads through the write-ahead log that a crash left. For a log of this size, the usual one, that
 * takes about ten milliseconds.
 */
export const maxLogBytes = 20 * 1024 * 1024;
/** Limit for all blobs together, because each is decompressed and hashed. */
const maxBlobBytes = 1024 * 1024;

/** Reads on the event loop, through a separate connection that never waits for a lock. */
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
      if (left < 0) throw new Error('too many blob bytes to read on the event loop');
      return blobs.read(workspace, hash);
    },
  };
};

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/**
 * Opens the connection for early reads. Returns undefined if reading could take long, for example if the file must be
 * created or migrated. Also returns undefined on any error, which the reader thread then reports.
 */
export const openEarlyReads = (options: ConnectionOptions & { readonly release: string }): EarlyReads | undefined => {
  const { file, release } = options;
  let opened: DatabaseSync | undefined;
  try {
    if (sizeOf(file) === 0 || sizeOf(`${realpathSync(file)}-wal`) > maxLogBytes) return undefined;
    if (isMountedReadOnly(file)) return undefined; // the thread checks that it stays so
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
