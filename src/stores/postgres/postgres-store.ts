import { BoundedMap } from '../../concurrency/bounded-map.ts';
import type { BlobHash, BlobStore, LooseBlob, LooseBlobs, NewBlob } from '../../core/ports/blobs.ts';
import type { ChargeGroupSum, ChargeQuery, ChargeSum, GroupedCharges } from '../../core/ports/charges.ts';
import type { LedgerRow } from '../../core/ports/ledger.ts';
import type { Notes } from '../../core/ports/notes.ts';
import type { Claim, Claimed, Queue, Work, WorkerState } from '../../core/ports/queue.ts';
import type { RecordQuery, Records, RecordWrite, StoredRecord } from '../../core/ports/records.ts';
import type { SessionValue } from '../../core/ports/session-value.ts';
import type {
  AppendOutcome,
  AppendRequest,
  BlobEventQuery,
  CallQuery,
  CallRecord,
  CommitQuery,
  FamilyMember,
  FoldSnapshot,
  Head,
  Imported,
  ListedSessions,
  ListQuery,
  ReadRange,
  RepeatQuery,
  SessionCopy,
  SessionKey,
  Store,
  StoredEvent,
  StoredKey,
  WakeForSession,
} from '../../core/ports/store.ts';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { MemberId, WorkspaceId } from '../../schema/ids.ts';
import type { RecordKind } from '../../schema/record-kind.ts';
import { longestTimerMs } from '../../schema/timer-limit.ts';
import type { PlacedHead } from '../log/listing-key.ts';
import { AppendQueue } from './log/append-queue.ts';
import { BlobReads } from './log/blob-reads.ts';
import { findLooseBlobs, putBlobs, removeBlobs, touchBlobs } from './log/blobs.ts';
import type { Changes } from './log/changes.ts';
import { findBlobEvents } from './log/find-blob-events.ts';
import { findCalls, findRepeated } from './log/find-calls.ts';
import { findCommits } from './log/find-commits.ts';
import { importCopies } from './log/import-copies.ts';
import { listKeys } from './log/keys.ts';
import { readLedger } from './log/ledger-rows.ts';
import { Lineages } from './log/lineages.ts';
import { listSessions } from './log/list-sessions.ts';
import { admittedBy } from './log/migrations.ts';
import { readEvents } from './log/read-events.ts';
import { rebuildProjections } from './log/rebuild-projections.ts';
import { findRecord, listRecords, writeRecords } from './log/record-rows.ts';
import { findValues } from './log/session-values.ts';
import { findFamily, findHead, findTurnStarts } from './log/sessions.ts';
import { findSnapshot, putSnapshot } from './log/snapshots.ts';
import { groupCharges, sumCharges } from './log/sum-charges.ts';
import type { WriteLog } from './log/write-log.ts';
import { meetStatements } from './meet-statements.ts';
import {
  type ClaimWork,
  findWork,
  finishWork,
  leaveWork,
  listWorkers,
  openClaims,
  releaseWork,
  touchWorker,
} from './queue/work-rows.ts';
import type { Database } from './server/database.ts';
import { isOfSchema, storeError } from './server/store-error.ts';

/** A store that gets no call for this long is idle, and prepares statements. */
const idleMs = 50;

const closedError = (): PerdureError => new PerdureError('RUNTIME_CLOSED', 'the store is closed: open it again');

/** Delegates every call to its module, tracks calls in flight, and translates engine errors. */
export class PostgresStore implements Store, BlobStore, Queue, Records, Notes {
  readonly #database: Database;
  readonly #writeLog: WriteLog;
  readonly #changes: Changes;
  readonly #lineages: Lineages;
  readonly #blobReads: BlobReads;
  readonly #claims: ClaimWork;
  readonly #knownHeads = new BoundedMap<string, PlacedHead>(10_000);
  /** Workspaces that had quotas when they were last read. */
  readonly #limited = new Set<WorkspaceId>();
  readonly #queues = new Map<WorkspaceId, AppendQueue>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #meeting: NodeJS.Timeout;
  #closing: Promise<void> | undefined;

  constructor(database: Database, writeLog: WriteLog, changes: Changes) {
    this.#database = database;
    this.#writeLog = writeLog;
    this.#changes = changes;
    this.#lineages = new Lineages(database);
    this.#blobReads = new BlobReads(database);
    this.#claims = openClaims(database);
    this.#meeting = setTimeout(() => this.#meetStatements(), idleMs).unref();
  }

  append(request: AppendRequest): Promise<AppendOutcome> {
    return this.#run(() => this.#queueOf(request.workspace).append(request));
  }

  head(key: SessionKey): Promise<Head | undefined> {
    return this.#run(() => findHead(this.#database, this.#lineages, key));
  }

  list(workspace: WorkspaceId, query: ListQuery): Promise<ListedSessions> {
    return this.#run(() => listSessions(this.#database, workspace, query));
  }

  values(key: SessionKey): Promise<readonly SessionValue[]> {
    return this.#run(() => findValues(this.#database, key));
  }

  read(key: SessionKey, range: ReadRange): Promise<readonly StoredEvent[]> {
    return this.#run(() => readEvents(this.#database.together, this.#lineages, key, range));
  }

  turnStarts(
    key: SessionKey,
    range: { readonly from: number; readonly limit: number },
  ): Promise<readonly { readonly turn: number; readonly seq: number }[]> {
    return this.#run(() => findTurnStarts(this.#database, this.#lineages, key, range));
  }

  family(key: SessionKey): Promise<readonly FamilyMember[]> {
    return this.#run(() => findFamily(this.#database, key));
  }

  putBlobs(workspace: WorkspaceId, blobs: readonly NewBlob[], member?: string): Promise<void> {
    return this.#run(() => putBlobs(this.#database, this.#limited, workspace, blobs, member));
  }

  readBlob(workspace: WorkspaceId, hash: BlobHash): Promise<Uint8Array | undefined> {
    return this.#run(() => this.#blobReads.read(workspace, hash));
  }

  hasBlobs(workspace: WorkspaceId, hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>> {
    return this.#run(() => touchBlobs(this.#database, workspace, hashes));
  }

  looseBlobs(workspace: WorkspaceId, query: LooseBlobs): Promise<readonly LooseBlob[]> {
    return this.#run(() => findLooseBlobs(this.#database, workspace, query));
  }

  removeBlobs(workspace: WorkspaceId, hashes: readonly BlobHash[], usedBefore: number): Promise<readonly BlobHash[]> {
    return this.#run(() => removeBlobs(this.#database, workspace, hashes, usedBefore));
  }

  now(): Promise<number> {
    return this.#run(() => this.#database.now());
  }

  putSnapshot(key: SessionKey, snapshot: FoldSnapshot): Promise<void> {
    return this.#run(() => putSnapshot(this.#database, this.#lineages, key, snapshot));
  }

  snapshot(
    key: SessionKey,
    at: { readonly seq: number; readonly foldVersion: number },
  ): Promise<FoldSnapshot | undefined> {
    return this.#run(() => findSnapshot(this.#database.together, this.#lineages, key, at));
  }

  keys(key: SessionKey, only?: string): Promise<readonly StoredKey[]> {
    return this.#run(() => listKeys(this.#database, key, only));
  }

  importCopies(workspace: WorkspaceId, copies: AsyncIterable<SessionCopy>, owner?: MemberId): Promise<Imported> {
    return this.#run(async () => {
      const { imported, changes } = await importCopies(this.#database, this.#writeLog, workspace, copies, owner);
      this.#changes.committed(changes);
      return imported;
    });
  }

  findCommits(workspace: WorkspaceId, query: CommitQuery): Promise<readonly StoredEvent[]> {
    return this.#run(() => findCommits(this.#database, this.#lineages, workspace, query));
  }

  findCalls(workspace: WorkspaceId, query: CallQuery): Promise<readonly CallRecord[]> {
    return this.#run(() => findCalls(this.#database, this.#lineages, workspace, query));
  }

  sumCharges(workspace: WorkspaceId, query: ChargeQuery): Promise<ChargeSum> {
    return this.#run(() => sumCharges(this.#database, this.#lineages, workspace, query));
  }

  groupCharges(workspace: WorkspaceId, query: GroupedCharges): Promise<readonly ChargeGroupSum[]> {
    return this.#run(() => groupCharges(this.#database, workspace, query));
  }

  ledger(workspace: WorkspaceId, periods: readonly string[]): Promise<readonly LedgerRow[]> {
    return this.#run(() => readLedger(this.#database, workspace, periods));
  }

  findRepeated(key: SessionKey, query: RepeatQuery): Promise<CallRecord | undefined> {
    return this.#run(() => findRepeated(this.#database, this.#lineages, key, query));
  }

  findBlobEvents(workspace: WorkspaceId, query: BlobEventQuery): Promise<readonly StoredEvent[]> {
    return this.#run(() => findBlobEvents(this.#database, workspace, query));
  }

  rebuildProjections(workspace: WorkspaceId): Promise<number> {
    return this.#run(async () => {
      const count = await rebuildProjections(this.#database, workspace);
      this.#changes.wakeWorkers(workspace);
      return count;
    });
  }

  findWork(workspace: WorkspaceId, limit: number): Promise<readonly Work[]> {
    return this.#run(() => findWork(this.#database, workspace, limit));
  }

  claim(claim: Claim): Promise<Claimed> {
    return this.#run(async () => {
      const { claimed, freed } = await this.#claims(claim);
      this.#changes.committed(freed);
      return claimed;
    });
  }

  touch(...asked: Parameters<Queue['touch']>): Promise<readonly SessionKey[]> {
    return this.#run(() => touchWorker(this.#database, ...asked));
  }

  finish(...asked: Parameters<Queue['finish']>): Promise<void> {
    return this.#run(async () => this.#changes.committed(await finishWork(this.#database, ...asked)));
  }

  release(...asked: Parameters<Queue['release']>): Promise<void> {
    return this.#run(async () => this.#changes.committed(await releaseWork(this.#database, ...asked)));
  }

  leave(worker: string): Promise<void> {
    return this.#run(async () => this.#changes.committed(await leaveWork(this.#database, worker)));
  }

  workers(): Promise<readonly WorkerState[]> {
    return this.#run(() => listWorkers(this.#database));
  }

  record(workspace: WorkspaceId, kind: RecordKind, id: string): Promise<StoredRecord | undefined> {
    return this.#run(() => findRecord(this.#database.together, workspace, kind, id));
  }

  records(workspace: WorkspaceId, kind: RecordKind, query: RecordQuery): Promise<readonly StoredRecord[]> {
    return this.#run(() => listRecords(this.#database, workspace, kind, query));
  }

  writeRecords(workspace: WorkspaceId, writes: readonly RecordWrite[]): Promise<boolean> {
    return this.#run(() => writeRecords(this.#database, workspace, writes));
  }

  sendNote(key: SessionKey, text: string): void {
    if (!this.#closing) this.#changes.sendNote(key, text);
  }

  hearNotes(...[hear, onHearing]: Parameters<Notes['hearNotes']>): () => void {
    if (this.#closing) throw closedError();
    return this.#changes.hearNotes(hear, onHearing);
  }

  watch(key: SessionKey, wake: (seq?: number) => void): () => void {
    if (this.#closing) throw closedError();
    return this.#changes.watch(key, wake);
  }

  watchWork(workspace: WorkspaceId | undefined, wake: () => void): () => void {
    if (this.#closing) throw closedError();
    return this.#changes.watchWork(workspace, wake);
  }

  watchWorkspace(workspace: WorkspaceId, wake: WakeForSession): () => void {
    if (this.#closing) throw closedError();
    return this.#changes.watchWorkspace(workspace, wake);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** A timer keeps the process alive until all connections are closed, because idle connections do not. */
  async #close(): Promise<void> {
    const awake = setInterval(() => {}, longestTimerMs);
    try {
      await Promise.allSettled(this.#running);
      await this.#changes.close();
      await this.#database.close();
    } finally {
      clearInterval(awake);
    }
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw closedError();
    clearTimeout(this.#meeting);
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      if (isOfSchema(error)) await this.#refuseOlder();
      throw storeError(error);
    } finally {
      this.#running.delete(running);
    }
  }

  /** Throws STORE_NEWER if that is why a call failed. */
  async #refuseOlder(): Promise<void> {
    const { release } = this.#database;
    const problem = await this.#database.use((client) => admittedBy(client, release)).catch((error) => error);
    if (isPerdureError(problem, 'STORE_NEWER')) throw problem;
  }

  /** Runs in the background and ignores errors, because the next call meets and reports the same error. */
  #meetStatements(): void {
    this.#run(() => meetStatements(this.#database)).catch(() => undefined);
  }

  #queueOf(workspace: WorkspaceId): AppendQueue {
    const known = this.#queues.get(workspace);
    if (known) return known;
    const queue = new AppendQueue({
      database: this.#database,
      workspace,
      writeLog: this.#writeLog,
      known: this.#knownHeads,
      limited: this.#limited,
      onCommit: (changes) => this.#changes.committed(changes),
      onIdle: () => this.#queues.delete(workspace),
    });
    this.#queues.set(workspace, queue);
    return queue;
  }
}
