import type { DatabaseSync } from 'node:sqlite';
import { isBegun } from './migrations.ts';
import { checkMark, type FileMark, newFileMark } from './opened-files.ts';
import { refuseOrphanedLog } from './orphaned-log.ts';
import { acceptsNoWrites, FrozenDatabase, isFrozen, isMountedReadOnly, mayChangeElsewhere } from './read-only-mount.ts';
import { RoundingDatabase } from './rounding-database.ts';
import { storeFailure } from './store-error.ts';

export interface ConnectionOptions {
  readonly file: string;
  readonly busyTimeoutMs: number;
  /** Connections that share a mark must open the same file. */
  readonly mark?: FileMark;
  /** Opens the file only if it needs no changes. */
  readonly asIs?: boolean;
  /** Rejects a file that accepts no writes. Other connections open it for reading. */
  readonly writes?: boolean;
}

/**
 * Settings that take effect only on an empty file. On any other file, they would cause a write without any effect.
 */
export const layout = 'PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL;';

/**
 * WAL length in pages. Pages that change often, like those of indexes, are moved to the file only once per
 * checkpoint.
 */
export const checkpointPages = 4000;

/**
 * Makes acknowledged commits durable: FULL syncs the WAL at every commit, and fullfsync makes macOS flush to the
 * platter.
 */
const settings = `
PRAGMA wal_autocheckpoint = ${checkpointPages};
PRAGMA synchronous = FULL;
PRAGMA fullfsync = 1;
PRAGMA checkpoint_fullfsync = 1;
PRAGMA journal_size_limit = 67108864;
`;

const readSettings = `
PRAGMA cell_size_check = 1;
PRAGMA temp_store = MEMORY;
PRAGMA trusted_schema = 0;
`;

const isEmpty = (db: DatabaseSync): boolean => Object.values(db.prepare('PRAGMA page_count').get()!)[0] === 0;

const busy = 5;
const retryMs = 10;
const sleep = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};

/**
 * Retries on its own, because changing the journal mode does not use the busy handler. It fails immediately while
 * others have the file open.
 */
const retryWhileBusy = (timeoutMs: number, work: () => void): void => {
  for (const deadline = performance.now() + timeoutMs; ; sleep(retryMs)) {
    try {
      work();
      return;
    } catch (error) {
      const isBusy = error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === busy;
      if (!isBusy || performance.now() > deadline) throw error;
    }
  }
};

const openFrozen = (file: string, writes: boolean): DatabaseSync => {
  if (writes) throw acceptsNoWrites(file);
  const db = new FrozenDatabase(file);
  try {
    isBegun(db, file);
    db.exec(readSettings);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

const readOnly = 8;
const cannotOpen = 14;
/** Without a -shm that it may write, SQLite reports only that it cannot open the file. */
const isOfReadOnlyMount = (error: unknown, file: string): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  [readOnly, cannotOpen].includes(Number(error.errcode) & 0xff) &&
  isMountedReadOnly(file);

export const openConnection = (options: ConnectionOptions): DatabaseSync => {
  const { file, busyTimeoutMs, mark = newFileMark(), asIs = false, writes = false } = options;
  checkMark(file, mark); // opening would create a new file in place of a deleted one
  refuseOrphanedLog(file);
  if (isFrozen(file)) return openFrozen(file, writes);
  const db = new RoundingDatabase(file, { timeout: busyTimeoutMs, enableForeignKeyConstraints: false });
  try {
    if (isEmpty(db) && !asIs) db.exec(layout);
    retryWhileBusy(busyTimeoutMs, () => {
      isBegun(db, file);
      const setMode = asIs ? 'PRAGMA journal_mode' : 'PRAGMA journal_mode = WAL';
      const { journal_mode: mode } = db.prepare(setMode).get() as { journal_mode: string };
      if (mode !== 'wal') {
        const advice = 'keep it on a local disk';
        throw storeFailure('STORE_UNAVAILABLE', file, 'its file system does not support a write-ahead log', { advice });
      }
    });
    db.exec(settings + readSettings);
    checkMark(file, mark);
    return db;
  } catch (error) {
    db.close();
    throw isOfReadOnlyMount(error, file) ? mayChangeElsewhere(file, error) : error;
  }
};
