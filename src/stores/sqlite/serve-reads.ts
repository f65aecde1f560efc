import type { BlobHash, LooseBlobs } from '../../core/ports/blobs.ts';
import type { RecordQuery } from '../../core/ports/records.ts';
import type {
  BlobEventQuery,
  CallQuery,
  CommitQuery,
  ListQuery,
  ReadRange,
  SessionKey,
} from '../../core/ports/store.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import type { RecordKind } from '../../schema/record-kind.ts';
import { openBlobs } from './blobs.ts';
import { openChanges } from './changes.ts';
import { openConnection } from './connection.ts';
import { openBlobEventFinder } from './find-blob-events.ts';
import { openCallFinder } from './find-calls.ts';
import { openCommitFinder } from './find-commits.ts';
import { openWorkerList, openWorkFinder } from './find-work.ts';
import { openKeys } from './keys.ts';
import { migrate } from './migrations.ts';
import { packEvents } from './packed-events.ts';
import type { Call } from './protocol.ts';
import { openEventReader } from './read-events.ts';
import { openRecordRows } from './record-rows.ts';
import { serveCall } from './serve-calls.ts';
import { openSessions } from './sessions.ts';
import { openSnapshots } from './snapshots.ts';
import type { ThreadData } from './thread-data.ts';

const openReader = (data: ThreadData) => {
  const db = openConnection(data);
  migrate(db, data.file, data.release);
  db.exec('PRAGMA query_only = 1');
  const sessions = openSessions(db, data.file);
  const blobs = openBlobs(db);
  const keys = openKeys(db);
  const events = openEventReader(db, sessions, blobs);
  const snapshots = openSnapshots(db, sessions, blobs);
  const commits = openCommitFinder(db, sessions, blobs);
  const calls = openCallFinder(db, sessions);
  const blobEvents = openBlobEventFinder(db, blobs);
  const findWork = openWorkFinder(db);
  const listWorkers = openWorkerList(db);
  const records = openRecordRows(db);
  const changes = openChanges(db, data, (found) => data.port.postMessage({ changes: found }));
  return {
    open: () => ({ value: undefined }),
    head: (key: SessionKey) => ({ value: sessions.head(key) }),
    list: (workspace: WorkspaceId, query: ListQuery) => ({ value: sessions.list(workspace, query) }),
    family: (key: SessionKey) => ({ value: sessions.family(key) }),
    keys: (key: SessionKey, only?: string) => ({ value: keys.list(key, only) }),
    turnStarts: (key: SessionKey, range: { readonly from: number; readonly limit: number }) => ({
      value: events.turnStarts(key, range),
    }),
    read: (key: SessionKey, range: ReadRange) => {
      const page = packEvents(events.read(key, range));
      return { value: page.events, transfer: [page.transfer] };
    },
    readBlob: (workspace: WorkspaceId, hash: BlobHash) => ({ value: blobs.read(workspace, Buffer.from(hash, 'hex')) }),
    looseBlobs: (workspace: WorkspaceId, query: LooseBlobs) => ({ value: blobs.loose(workspace, query) }),
    snapshot: (key: SessionKey, at: { readonly seq: number; readonly foldVersion: number }) => ({
      value: snapshots.newest(key, at),
    }),
    findCommits: (workspace: WorkspaceId, query: CommitQuery) => {
      const page = packEvents(commits.find(workspace, query));
      return { value: page.events, transfer: [page.transfer] };
    },
    findCalls: (workspace: WorkspaceId, query: CallQuery) => ({ value: calls.find(workspace, query) }),
    findBlobEvents: (workspace: WorkspaceId, query: BlobEventQuery) => {
      const page = packEvents(blobEvents.find(workspace, query));
      return { value: page.events, transfer: [page.transfer] };
    },
    findWork: (workspace: WorkspaceId, limit: number) => ({ value: findWork(workspace, limit) }),
    workers: () => ({ value: listWorkers() }),
    record: (workspace: WorkspaceId, kind: RecordKind, id: string) => ({ value: records.one(workspace, kind, id) }),
    records: (workspace: WorkspaceId, kind: RecordKind, query: RecordQuery) => ({
      value: records.list(workspace, kind, query),
    }),
    watch: () => ({ value: changes.start() }),
    unwatch: () => ({ value: changes.stop() }),
    close: () => {
      changes.stop();
      return { value: db.close() };
    },
  };
};

export type ReaderOperations = ReturnType<typeof openReader>;

export const serveReads = (data: ThreadData): void => {
  let opened: ReaderOperations | undefined;
  const operations = (): ReaderOperations => {
    opened ??= openReader(data);
    return opened;
  };
  data.port.on('message', (calls: readonly Call[]) => {
    for (const call of calls) serveCall(data.port, data.file, operations, call);
  });
};
