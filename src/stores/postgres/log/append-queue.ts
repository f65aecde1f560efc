import { setImmediate as nextTurn } from 'node:timers/promises';
import { backoffMs } from '../../../concurrency/backoff.ts';
import { pause } from '../../../concurrency/pause.ts';
import type { Appended, AppendOutcome, AppendRequest } from '../../../core/ports/store.ts';
import { PerdureError } from '../../../schema/error.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { inSlices } from '../../in-slices.ts';
import type { PlacedHead } from '../../log/listing-key.ts';
import { type Change, changeOf } from '../../waking/watchers.ts';
import type { Database } from '../server/database.ts';
import type { Lease } from '../server/leases.ts';
import { isConnectionLost, isOutdated, isPoolExhausted, isReadOnly, unknownOutcome } from '../server/store-error.ts';
import { type AppendResult, appendBatch, type PendingAppend } from './append-batch.ts';
import { prepareAppend } from './prepare-append.ts';
import type { WriteLog } from './write-log.ts';

const maxBatchRequests = 256;
const maxBatchBytes = 8 * 1024 * 1024;
/** When more bytes than this wait already, CPU time is scarcer than space, so new payloads are stored uncompressed. */
const maxCompressBytes = 64 * 1024;
const maxTries = 5;
const retryForMs = 4000;
const backoff = { firstMs: 40, maxMs: 500 };
/**
 * How many appends of a failed batch may time out one by one before the rest of the batch is rejected without a retry.
 */
const apartForTimeouts = 5;

interface Waiting {
  readonly request: AppendRequest;
  readonly bytes: number;
  /** The prepared append; undefined while its large payloads are being hashed and compressed. */
  pending: PendingAppend | undefined;
  readonly resolve: (outcome: AppendOutcome) => void;
  readonly reject: (error: unknown) => void;
}

type Ready = Waiting & { readonly pending: PendingAppend };

/** Resolves or rejects one caller after its batch has finished. */
interface Answer {
  deliver(): void;
}

/**
 * Many callers are resolved in two halves, so that one half prepares its next appends here while the server works for
 * the other half.
 */
const halfOf = ({ length }: readonly Answer[]): number => Math.max(4, Math.ceil(length / 2));

export interface AppendQueueOptions {
  readonly database: Database;
  readonly workspace: WorkspaceId;
  readonly writeLog: WriteLog;
  /** Heads as this process last saw them. */
  readonly known: Map<string, PlacedHead>;
  /** Workspaces that had quotas when they were last read. */
  readonly limited: Set<WorkspaceId>;
  readonly onCommit: (changes: readonly Change[]) => void;
  /** Called when the queue becomes empty, so that its owner can drop it. */
  readonly onIdle: () => void;
}

/** Group commit for one workspace: while one batch is in flight, new appends collect for the next transaction. */
export class AppendQueue {
  readonly #options: AppendQueueOptions;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #running = false;

  constructor(options: AppendQueueOptions) {
    this.#options = options;
  }

  append(request: AppendRequest): Promise<AppendOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<AppendOutcome>();
    const bytes = request.events.reduce((sum, { payload }) => sum + payload.length, 0);
    const waiting: Waiting = { request, bytes, pending: undefined, resolve, reject };
    this.#waiting.push(waiting);
    const prepared = prepareAppend(request, { compress: this.#waitingBytes <= maxCompressBytes });
    this.#waitingBytes += bytes;
    if (prepared instanceof Promise) {
      prepared.then(
        (pending) => this.#ready(waiting, pending),
        (error) => this.#drop(waiting, error),
      );
    } else {
      this.#ready(waiting, prepared);
    }
    return promise;
  }

  #ready(waiting: Waiting, pending: PendingAppend): void {
    waiting.pending = pending;
    if (!this.#running) void this.#run();
  }

  #drop(waiting: Waiting, error: unknown): void {
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
    this.#waitingBytes -= waiting.bytes;
    waiting.reject(error);
    if (!this.#running) void this.#run();
  }

  /**
   * Sends the next batch before resolving the previous one, so that the server works while callers prepare their next
   * appends.
   */
  async #run(): Promise<void> {
    this.#running = true;
    const lease = this.#options.database.lease();
    let answers: readonly Answer[] = [];
    let delivered = Promise.resolve();
    for (await nextTurn(); ; ) {
      const batch = this.#take();
      if (batch.length + answers.length === 0) break;
      const next = batch.length > 0 ? this.#settle(lease, batch) : nextTurn([]);
      const those = answers;
      delivered = delivered.then(() => inSlices(those, ({ deliver }) => deliver(), halfOf(those)));
      answers = await next;
    }
    lease.release();
    this.#running = false;
    if (this.#waiting.length === 0) this.#options.onIdle();
  }

  /**
   * Takes the next batch. Keeps the order of arrival within a session. A fork is left for a later batch if its parent
   * is written in this one.
   */
  #take(): Ready[] {
    const batch: Ready[] = [];
    const rest: Waiting[] = [];
    const held = new Set<SessionId>();
    const written = new Set<SessionId>();
    let bytes = 0;
    for (const waiting of this.#waiting) {
      const { request, pending } = waiting;
      const parent = request.creates?.parent?.session;
      const full = batch.length >= maxBatchRequests || (batch.length > 0 && bytes + waiting.bytes > maxBatchBytes);
      if (!pending || full || held.has(request.session) || (parent && (held.has(parent) || written.has(parent)))) {
        rest.push(waiting);
        held.add(request.session);
      } else {
        batch.push(Object.assign(waiting, { pending }));
        written.add(request.session);
        bytes += waiting.bytes;
      }
    }
    this.#waiting = rest;
    this.#waitingBytes -= bytes;
    return batch;
  }

  /** Retries the appends of a failed batch one by one, unless the error would make each of them fail as well. */
  async #settle(lease: Lease, batch: readonly Ready[]): Promise<readonly Answer[]> {
    const until = Date.now() + apartForTimeouts * this.#options.database.statementTimeoutMs;
    let results: readonly AppendResult[];
    try {
      results = await this.#commit(
        lease,
        batch.map(({ pending }) => pending),
      );
    } catch (error) {
      const apart = batch.length > 1 && !isOfConnection(error) && !(error instanceof PerdureError);
      for (const waiting of batch) {
        if (!apart || Date.now() >= until) waiting.reject(error);
        else for (const { deliver } of await this.#settle(lease, [waiting])) deliver();
      }
      return [];
    }
    this.#options.onCommit(
      results.flatMap((result) => (isAppended(result) ? changeOf(result.head, result.events) : [])),
    );
    return batch.map((waiting, place) => {
      const result = results[place]!;
      return { deliver: () => (result instanceof PerdureError ? waiting.reject(result) : waiting.resolve(result)) };
    });
  }

  /** Retries after conflicts with other processes and after lost connections, within limits on tries and time. */
  async #commit(lease: Lease, batch: readonly PendingAppend[]): Promise<readonly AppendResult[]> {
    const { database, ...connection } = this.#options;
    const opening = database.opening(connection.workspace, 'read write');
    let until: number | undefined;
    for (let tries = 1; ; tries++) {
      try {
        return await lease.use((client) => appendBatch({ ...connection, client, opening }, batch));
      } catch (error) {
        // The deadline counts from the first failure, because the process may have been suspended until the server
        // dropped the connection.
        until ??= Date.now() + retryForMs;
        const sent = batch.some(({ attempts }) => attempts.length > 0);
        const lost = isConnectionLost(error);
        // A failover to another primary may be under way, and takes seconds.
        const few = tries < maxTries;
        const again = lost ? (sent || isReadOnly(error) || few) && Date.now() < until : isOutdated(error) && few;
        if (!again) throw lost && sent ? unknownOutcome(error) : error;
        await pause(backoffMs(tries, backoff, Math.random));
      }
    }
  }
}

const isOfConnection = (error: unknown): boolean => isConnectionLost(error) || isPoolExhausted(error);

const isAppended = (result: AppendResult): result is Appended =>
  !(result instanceof PerdureError) && result.outcome === 'appended';
