import type { TransferListItem } from 'node:worker_threads';
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
import { PerdureError } from '../../schema/error.ts';
import type { MemberId, WorkspaceId } from '../../schema/ids.ts';
import type { RecordKind } from '../../schema/record-kind.ts';
import { changeOf, type Watchers } from '../waking/watchers.ts';
import { ImportTurns } from './log/import-turns.ts';
import { feedImport } from './thread/feed-import.ts';
import { followFile } from './thread/follow-file.ts';
import { packRequest, unpackOutcome } from './thread/packed-append.ts';
import type { ValueOf } from './thread/protocol.ts';
import type { Reader } from './thread/reader.ts';
import type { WriterOperations } from './thread/serve-writes.ts';
import type { ThreadClient } from './thread/thread-client.ts';

/**
 * The event loop's side of the store. It hands every call to one of two threads, and serves reads itself only until
 * the threads have started.
 */
export class SqliteStore implements Store, BlobStore, Queue, Records, Notes {
  readonly #reader: Reader;
  readonly #writer: ThreadClient<WriterOperations>;
  readonly #watchers: Watchers;
  readonly #turns = new ImportTurns();
  #closing: Promise<void> | undefined;

  constructor(reader: Reader, writer: ThreadClient<WriterOperations>, watchers: Watchers) {
    this.#reader = reader;
    this.#writer = writer;
    this.#watchers = watchers;
  }

  async append(request: AppendRequest): Promise<AppendOutcome> {
    const packed = packRequest(request);
    const reply = await this.#write('append', [packed.request], [packed.transfer]);
    const outcome = unpackOutcome(request, reply);
    if (outcome.outcome === 'appended') this.#watchers.committed([changeOf(outcome.head, outcome.events)]);
    return outcome;
  }

  async head(key: SessionKey): Promise<Head | undefined> {
    return this.#open(this.#reader).call('head', [key]);
  }

  async list(workspace: WorkspaceId, query: ListQuery): Promise<ListedSessions> {
    return this.#open(this.#reader).call('list', [workspace, query]);
  }

  async values(key: SessionKey): Promise<readonly SessionValue[]> {
    return this.#open(this.#reader).call('values', [key]);
  }

  async read(key: SessionKey, range: ReadRange): Promise<readonly StoredEvent[]> {
    return this.#open(this.#reader).call('read', [key, range]);
  }

  async turnStarts(
    key: SessionKey,
    range: { readonly from: number; readonly limit: number },
  ): Promise<readonly { readonly turn: number; readonly seq: number }[]> {
    return this.#open(this.#reader).call('turnStarts', [key, range]);
  }

  async family(key: SessionKey): Promise<readonly FamilyMember[]> {
    return this.#open(this.#reader).call('family', [key]);
  }

  async putBlobs(workspace: WorkspaceId, blobs: readonly NewBlob[], member?: string): Promise<void> {
    await this.#write('putBlobs', [workspace, blobs, member]);
  }

  async readBlob(workspace: WorkspaceId, hash: BlobHash): Promise<Uint8Array | undefined> {
    return this.#open(this.#reader).call('readBlob', [workspace, hash]);
  }

  async hasBlobs(workspace: WorkspaceId, hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>> {
    return this.#write('hasBlobs', [workspace, hashes]);
  }

  async looseBlobs(workspace: WorkspaceId, query: LooseBlobs): Promise<readonly LooseBlob[]> {
    return this.#open(this.#reader).call('looseBlobs', [workspace, query]);
  }

  async removeBlobs(
    workspace: WorkspaceId,
    hashes: readonly BlobHash[],
    usedBefore: number,
  ): Promise<readonly BlobHash[]> {
    return this.#write('removeBlobs', [workspace, hashes, usedBefore]);
  }

  async now(): Promise<number> {
    this.#open(this.#writer);
    return Date.now();
  }

  async putSnapshot(key: SessionKey, snapshot: FoldSnapshot): Promise<void> {
    await this.#write('putSnapshot', [key, snapshot]);
  }

  async snapshot(
    key: SessionKey,
    at: { readonly seq: number; readonly foldVersion: number },
  ): Promise<FoldSnapshot | undefined> {
    return this.#open(this.#reader).call('snapshot', [key, at]);
  }

  async keys(key: SessionKey, only?: string): Promise<readonly StoredKey[]> {
    return this.#open(this.#reader).call('keys', [key, only]);
  }

  async importCopies(workspace: WorkspaceId, copies: AsyncIterable<SessionCopy>, owner?: MemberId): Promise<Imported> {
    const writer = this.#open(this.#writer);
    const { imported, changes } = await this.#turns.import(() => feedImport(writer, workspace, copies, owner));
    this.#watchers.committed(changes);
    return imported;
  }

  async findCommits(workspace: WorkspaceId, query: CommitQuery): Promise<readonly StoredEvent[]> {
    return this.#open(this.#reader).call('findCommits', [workspace, query]);
  }

  async findCalls(workspace: WorkspaceId, query: CallQuery): Promise<readonly CallRecord[]> {
    return this.#open(this.#reader).call('findCalls', [workspace, query]);
  }

  async sumCharges(workspace: WorkspaceId, query: ChargeQuery): Promise<ChargeSum> {
    return this.#open(this.#reader).call('sumCharges', [workspace, query]);
  }

  async groupCharges(workspace: WorkspaceId, query: GroupedCharges): Promise<readonly ChargeGroupSum[]> {
    return this.#open(this.#reader).call('groupCharges', [workspace, query]);
  }

  async ledger(workspace: WorkspaceId, periods: readonly string[]): Promise<readonly LedgerRow[]> {
    return this.#open(this.#reader).call('ledger', [workspace, periods]);
  }

  async findRepeated(key: SessionKey, query: RepeatQuery): Promise<CallRecord | undefined> {
    return this.#open(this.#reader).call('findRepeated', [key, query]);
  }

  async findBlobEvents(workspace: WorkspaceId, query: BlobEventQuery): Promise<readonly StoredEvent[]> {
    return this.#open(this.#reader).call('findBlobEvents', [workspace, query]);
  }

  async rebuildProjections(workspace: WorkspaceId): Promise<number> {
    const count = await this.#write('rebuildProjections', [workspace]);
    this.#watchers.wakeWorkers(new Set([workspace]));
    return count;
  }

  async findWork(workspace: WorkspaceId, limit: number): Promise<readonly Work[]> {
    return this.#open(this.#reader).call('findWork', [workspace, limit]);
  }

  async claim(claim: Claim): Promise<Claimed> {
    const { freed, ...claimed } = await this.#write('claim', [claim]);
    this.#watchers.wakeWorkers(freed);
    return claimed;
  }

  async touch(...asked: Parameters<Queue['touch']>): Promise<readonly SessionKey[]> {
    return this.#write('touch', asked);
  }

  async finish(...asked: Parameters<Queue['finish']>): Promise<void> {
    this.#watchers.wakeWorkers(await this.#write('finish', asked));
  }

  async release(...asked: Parameters<Queue['release']>): Promise<void> {
    this.#watchers.wakeWorkers(await this.#write('release', asked));
  }

  async leave(worker: string): Promise<void> {
    this.#watchers.wakeWorkers(await this.#write('leave', [worker]));
  }

  async workers(): Promise<readonly WorkerState[]> {
    return this.#open(this.#reader).call('workers', []);
  }

  async record(workspace: WorkspaceId, kind: RecordKind, id: string): Promise<StoredRecord | undefined> {
    return this.#open(this.#reader).call('record', [workspace, kind, id]);
  }

  async records(workspace: WorkspaceId, kind: RecordKind, query: RecordQuery): Promise<readonly StoredRecord[]> {
    return this.#open(this.#reader).call('records', [workspace, kind, query]);
  }

  async writeRecords(workspace: WorkspaceId, writes: readonly RecordWrite[]): Promise<boolean> {
    return this.#write('writeRecords', [workspace, writes]);
  }

  /** Drops the note: processes share only the file, which is for durable data. */
  sendNote(): void {}

  hearNotes(): () => void {
    this.#open(this.#reader);
    return () => undefined;
  }

  watch(key: SessionKey, wake: (seq?: number) => void): () => void {
    return this.#follow(() => this.#watchers.add(key, wake));
  }

  watchWork(workspace: WorkspaceId | undefined, wake: () => void): () => void {
    return this.#follow(() => this.#watchers.addWorker(workspace, wake));
  }

  watchWorkspace(workspace: WorkspaceId, wake: WakeForSession): () => void {
    return this.#follow(() => this.#watchers.addHearer(workspace, wake));
  }

  #follow(add: () => () => boolean): () => void {
    const reader = this.#open(this.#reader);
    const wasQuiet = !this.#watchers.any;
    const remove = add();
    if (wasQuiet) void followFile(reader, this.#watchers);
    return () => {
      if (remove() && !this.#watchers.any && !this.#closing) reader.call('unwatch', []).catch(() => undefined);
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#turns.write(async () => undefined);
    this.#watchers.clear();
    // The writer closes last, so that no reader of ours blocks its checkpoint.
    await this.#reader.close();
    await this.#writer.close(() => this.#writer.call('close', []));
  }

  async #write<Op extends keyof WriterOperations & string>(
    op: Op,
    args: Parameters<WriterOperations[Op]>,
    transfer?: readonly TransferListItem[],
  ): Promise<ValueOf<WriterOperations[Op]>> {
    const writer = this.#open(this.#writer);
    return this.#turns.write(() => writer.call(op, args, transfer));
  }

  #open<Thread>(thread: Thread): Thread {
    if (!this.#closing) return thread;
    throw new PerdureError('RUNTIME_CLOSED', 'the store is closed: open it again');
  }
}
