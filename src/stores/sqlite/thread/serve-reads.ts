import type { DatabaseSync } from 'node:sqlite';
import type { BlobHash, LooseBlobs } from '../../../core/ports/blobs.ts';
import type { ChargeQuery, GroupedCharges } from '../../../core/ports/charges.ts';
import type { BlobEventQuery, CallQuery, CommitQuery, RepeatQuery, SessionKey } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { openConnection } from '../file/connection.ts';
import { lazyStatement } from '../file/lazy-statement.ts';
import { isBegun, isCurrent, migrate } from '../file/migrations.ts';
import { FrozenDatabase, olderOnReadOnlyMount } from '../file/read-only-mount.ts';
import { openBlobs } from '../log/blobs.ts';
import { openChanges } from '../log/changes.ts';
import { openBlobEventFinder } from '../log/find-blob-events.ts';
import { openCallFinder } from '../log/find-calls.ts';
import { openCommitFinder } from '../log/find-commits.ts';
import { openKeys } from '../log/keys.ts';
import { openEventReader } from '../log/read-events.ts';
import { openReadLedger } from '../log/read-ledger.ts';
import { openChargeReader } from '../log/sum-charges.ts';
import { openWorkerList, openWorkFinder } from '../queue/find-work.ts';
import { openFirstReads } from './first-reads.ts';
import { packEvents } from './packed-events.ts';
import type { Call } from './protocol.ts';
import { failedReply, serveCall } from './serve-calls.ts';
import type { ThreadData } from './thread-data.ts';

/** The first read of a page takes 8 ms, the second 5 and the third 2.5. */
const warmUpReads = 3;

/** Migrates the database. A rebuild needs the schemas of all events, so its code is loaded only when there may be events. */
const migrateReader = async (db: DatabaseSync, { file, release }: ThreadData): Promise<void> => {
  if (isCurrent(db, file, release)) return;
  if (db instanceof FrozenDatabase) throw olderOnReadOnlyMount(file);
  const rebuild = isBegun(db, file) ? (await import('../log/rebuild-projections.ts')).rebuildEveryWorkspace : undefined;
  migrate(db, file, release, () => rebuild?.(db, file, release));
};

const openReader = async (data: ThreadData) => {
  const db = openConnection(data);
  await migrateReader(db, data);
  db.exec('PRAGMA query_only = 1');
  const blobs = openBlobs(db);
  const { sessions, operations } = openFirstReads(db, blobs);
  const keys = openKeys(db);
  const commits = openCommitFinder(db, sessions, blobs);
  const calls = openCallFinder(db, sessions);
  const charges = openChargeReader(db, sessions);
  const ledger = openReadLedger(db);
  const blobEvents = openBlobEventFinder(db, blobs);
  const findWork = openWorkFinder(db);
  const listWorkers = openWorkerList(db);
  const changes = openChanges(db, data, (found) => data.port.postMessage({ changes: found }));
  const lastWritten = lazyStatement(db, 'SELECT workspace, session FROM events ORDER BY rowid DESC LIMIT 1');
  /**
   * Reads a few times in advance. Otherwise the first read would wait until code is compiled and pages are fetched.
   * Uses the latest session, which is likely to be opened, and skips blobs, which would take too long.
   */
  const warmUp = (): void => {
    try {
      const key = lastWritten().get() as SessionKey | undefined;
      if (!key) return;
      sessions.head(key);
      const events = openEventReader(db, sessions, { ...blobs, read: () => undefined });
      for (let read = 0; read < warmUpReads; read++) {
        packEvents(events.read(key, { limit: 256, maxBytes: 1024 * 1024, order: 'descending' }));
      }
    } catch {
      // The next reader gets the same error.
    }
  };
  return {
    ...operations,
    check: () => {
      if (db instanceof FrozenDatabase) db.check();
      return { value: undefined };
    },
    open: () => ({ value: warmUp() }),
    values: (key: SessionKey) => ({ value: sessions.values(key) }),
    family: (key: SessionKey) => ({ value: sessions.family(key) }),
    keys: (key: SessionKey, only?: string) => ({ value: keys.list(key, only) }),
    readBlob: (workspace: WorkspaceId, hash: BlobHash) => ({ value: blobs.read(workspace, Buffer.from(hash, 'hex')) }),
    looseBlobs: (workspace: WorkspaceId, query: LooseBlobs) => ({ value: blobs.loose(workspace, query) }),
    findCommits: (workspace: WorkspaceId, query: CommitQuery) => {
      const page = packEvents(commits.find(workspace, query));
      return { value: page.events, transfer: [page.transfer] };
    },
    findCalls: (workspace: WorkspaceId, query: CallQuery) => ({ value: calls.find(workspace, query) }),
    sumCharges: (workspace: WorkspaceId, query: ChargeQuery) => ({ value: charges.sum(workspace, query) }),
    groupCharges: (workspace: WorkspaceId, query: GroupedCharges) => ({ value: charges.group(workspace, query) }),
    ledger: (workspace: WorkspaceId, periods: readonly string[]) => ({ value: ledger(workspace, periods) }),
    findRepeated: (key: SessionKey, query: RepeatQuery) => ({ value: calls.findRepeated(key, query) }),
    findBlobEvents: (workspace: WorkspaceId, query: BlobEventQuery) => {
      const page = packEvents(blobEvents.find(workspace, query));
      return { value: page.events, transfer: [page.transfer] };
    },
    findWork: (workspace: WorkspaceId, limit: number) => ({ value: findWork(workspace, limit) }),
    workers: () => ({ value: listWorkers() }),
    watch: () => ({ value: changes.start() }),
    unwatch: () => ({ value: changes.stop() }),
    close: () => {
      changes.stop();
      return { value: db.close() };
    },
  };
};

export type ReaderOperations = Awaited<ReturnType<typeof openReader>>;

export const serveReads = (data: ThreadData): void => {
  const { port, file } = data;
  let opened: ReaderOperations | undefined;
  const serve = async (call: Call): Promise<void> => {
    try {
      opened ??= await openReader(data);
    } catch (error) {
      port.postMessage({ replies: [failedReply(call.id, error, file)] });
      return;
    }
    const operations = opened;
    const checked = (): ReaderOperations => {
      if (call.op !== 'close') operations.check();
      return operations;
    };
    serveCall(port, file, checked, call);
  };
  let served = Promise.resolve();
  port.on('message', (calls: readonly Call[]) => {
    for (const call of calls) served = served.then(() => serve(call));
  });
};
