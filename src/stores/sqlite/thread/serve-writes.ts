import { availableParallelism } from 'node:os';
import { receiveMessageOnPort } from 'node:worker_threads';
import type { BlobHash, NewBlob } from '../../../core/ports/blobs.ts';
import type { Claim, Queue } from '../../../core/ports/queue.ts';
import type { RecordWrite } from '../../../core/ports/records.ts';
import type { AppendRequest, FoldSnapshot, SessionCopy, SessionKey } from '../../../core/ports/store.ts';
import { quotaError } from '../../../core/session/quota-refusal.ts';
import type { MemberId, WorkspaceId } from '../../../schema/ids.ts';
import { encodeBlobsSync } from '../../codec/payload-codec.ts';
import { meterBlobs } from '../../log/meter.ts';
import { openConnection } from '../file/connection.ts';
import { inTransaction } from '../file/in-transaction.ts';
import { isFrozen } from '../file/read-only-mount.ts';
import { appendBatch } from '../log/append-batch.ts';
import { openCopyImport } from '../log/import-copies.ts';
import { openEventReader } from '../log/read-events.ts';
import { rebuildProjections } from '../log/rebuild-projections.ts';
import { openTables } from '../log/tables.ts';
import { openClaims } from '../queue/claim-work.ts';
import { type AppendReply, packOutcome } from './packed-append.ts';
import type { Answer, Call, Reply } from './protocol.ts';
import { failedReply, serveCall } from './serve-calls.ts';
import { requestOf, takeBatch } from './take-batch.ts';
import type { ThreadData } from './thread-data.ts';

/**
 * More calls usually follow soon. Waiting for the bell this long is cheaper than a round trip through the event loop.
 */
const waitMs = 50;
/**
 * A sleeping thread takes almost as long to wake as a commit. A caller that appends in sequence sends its next append
 * within this time, so we spin until then.
 */
const watchMs = availableParallelism() > 1 ? 0.3 : 0;

const openWriter = (data: ThreadData) => {
  const db = openConnection({ ...data, writes: true });
  const tables = openTables(db, data.file, data.release);
  const copies = openCopyImport(db, tables);
  const claims = openClaims(db, tables.work, tables.admission);
  const events = openEventReader(db, tables.sessions, tables.blobs);
  const inAllowed = <T>(work: () => T): T =>
    inTransaction(db, () => {
      tables.admission.check();
      return work();
    });
  return {
    appendAll: (requests: readonly AppendRequest[]) => ({ value: appendBatch(db, data.file, tables, requests) }),
    putSnapshots: (puts: readonly SnapshotPut[]) => ({
      value: inAllowed(() => {
        for (const [key, snapshot] of puts) tables.snapshots.put(key, snapshot);
      }),
    }),
    putBlobs: (workspace: WorkspaceId, given: readonly NewBlob[], member = '') => {
      const encoded = encodeBlobsSync(given);
      return {
        value: inAllowed(() => {
          const added = encoded.map((blob) => tables.blobs.put(workspace, blob, member));
          const refusal = tables.ledger.enter(workspace, meterBlobs(added));
          if (refusal) throw quotaError(workspace, refusal);
        }),
      };
    },
    hasBlobs: (workspace: WorkspaceId, hashes: readonly BlobHash[]) => ({
      value: inAllowed(() => tables.blobs.touch(workspace, hashes)),
    }),
    removeBlobs: (workspace: WorkspaceId, hashes: readonly BlobHash[], usedBefore: number) => ({
      value: inAllowed(() => {
        const removed = tables.blobs.remove(workspace, hashes, usedBefore);
        tables.ledger.enter(workspace, meterBlobs(removed.freed));
        return removed.hashes;
      }),
    }),
    importBegin: () => ({ value: copies.begin() }),
    importAdd: (workspace: WorkspaceId, copy: SessionCopy, owner?: MemberId) => ({
      value: copies.add(workspace, copy, owner),
    }),
    importCommit: () => ({ value: copies.commit() }),
    importCancel: () => ({ value: copies.cancel() }),
    rebuildProjections: (workspace: WorkspaceId) => ({ value: rebuildProjections(db, tables, events, workspace) }),
    claim: (claim: Claim) => ({ value: claims(claim) }),
    touch: (...asked: Parameters<Queue['touch']>) => ({ value: tables.work.touch(...asked) }),
    finish: (...asked: Parameters<Queue['finish']>) => ({ value: tables.work.finish(...asked) }),
    release: (...asked: Parameters<Queue['release']>) => ({ value: tables.work.release(...asked) }),
    leave: (worker: string) => ({ value: inTransaction(db, () => tables.work.leave(worker)) }),
    writeRecords: (workspace: WorkspaceId, writes: readonly RecordWrite[]) => ({
      value: inAllowed(() => {
        const isDone = tables.records.write(workspace, writes);
        if (isDone && writes.some(({ kind }) => kind === 'quota')) tables.ledger.recount(workspace);
        tables.files.check();
        return isDone;
      }),
    }),
    /** Moves the write-ahead log into the main file, unless another process is reading from it. */
    close: () => {
      db.exec('PRAGMA busy_timeout = 100; PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)');
      return { value: db.close() };
    },
  };
};

type SnapshotPut = readonly [key: SessionKey, snapshot: FoldSnapshot];
type Opened = ReturnType<typeof openWriter>;
/** The operations as the event loop calls them, with single appends and snapshots. The thread batches these. */
export type WriterOperations = Omit<Opened, 'appendAll' | 'putSnapshots'> & {
  readonly append: (request: AppendRequest) => Answer<AppendReply>;
  readonly putSnapshot: (...put: SnapshotPut) => Answer<void>;
};

export const serveWrites = (data: ThreadData): void => {
  const { port, bell, file } = data;
  let opened: Opened | undefined;
  const operations = (): Opened => {
    opened ??= openWriter(data);
    return opened;
  };
  const queue: Call[] = [];
  /**
   * Snapshots to write. They are kept separately, because they arrive from many sessions and must not split batches of
   * appends.
   */
  let snapshots: Call[] = [];

  const take = (calls: readonly Call[]): void => {
    for (const call of calls) (call.op === 'putSnapshot' ? snapshots : queue).push(call);
  };
  const receive = (): boolean => {
    const received = receiveMessageOnPort(port);
    if (received) take(received.message as readonly Call[]);
    return received !== undefined;
  };
  const waitForMore = (): boolean => {
    const rung = Atomics.load(bell, 0);
    if (receive()) return true;
    const watchEnd = performance.now() + watchMs;
    while (Atomics.load(bell, 0) === rung && performance.now() < watchEnd);
    Atomics.wait(bell, 0, rung, waitMs);
    return receive();
  };
  const serveAppends = (): void => {
    while (receive());
    const batch = takeBatch(queue);
    let replies: readonly Reply[];
    try {
      const { value: results } = operations().appendAll(batch.map(requestOf));
      replies = batch.map(({ id }, index) => {
        const result = results[index]!;
        return result.outcome === 'failed' ? failedReply(id, result.error, file) : { id, value: packOutcome(result) };
      });
    } catch (error) {
      replies = batch.map(({ id }) => failedReply(id, error, file));
    }
    port.postMessage({ replies });
  };

  const putSnapshots = (calls: readonly Call[]): void => {
    try {
      operations().putSnapshots(calls.map(({ args }) => args as unknown as SnapshotPut));
      port.postMessage({ replies: calls.map(({ id }) => ({ id, value: undefined })) });
    } catch (error) {
      // Snapshots are caches, and a read-only file system never takes them. A warning for each would help nobody.
      if (isFrozen(file)) port.postMessage({ replies: calls.map(({ id }) => ({ id, value: undefined })) });
      else if (calls.length > 1) for (const call of calls) putSnapshots([call]);
      else port.postMessage({ replies: calls.map(({ id }) => failedReply(id, error, file)) });
    }
  };
  /**
   * Serves appends before snapshots, because callers wait for appends. Other calls are served last, because an import
   * keeps its transaction open.
   */
  const serveNext = (): void => {
    if (queue[0]?.op === 'append') serveAppends();
    const calls = snapshots;
    snapshots = [];
    if (calls.length > 0) putSnapshots(calls);
    const next = queue[0]?.op === 'append' ? undefined : queue.shift();
    if (next) serveCall(port, file, operations, next);
  };

  port.on('message', (calls: readonly Call[]) => {
    take(calls);
    do {
      while (queue.length + snapshots.length > 0) serveNext();
    } while (waitForMore());
  });
};
