import { z } from 'zod';
import { Mutex } from '../../concurrency/mutex.ts';
import type { SessionId, WebhookId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Delivery } from '../../schema/webhook.ts';
import { readChanges } from '../engine/changes.ts';
import { type RunningServices, serviceStopped } from '../engine/running-services.ts';
import { changedSince, clockSkewMs } from '../ports/changed-since.ts';
import type { StoredRecord } from '../ports/records.ts';
import type { CancelTimer } from '../ports/timekeeper.ts';
import { DeliverySender, defaultSenderOptions } from './delivery-sender.ts';
import { heardSince, OccurrenceLog } from './occurrence-log.ts';
import { pruneDeliveries } from './prune-deliveries.ts';
import type { WebhookScope } from './webhook-scope.ts';
import { writeDelivery } from './write-delivery.ts';

const Options = z.strictObject({
  retryMs: z.array(z.number().nonnegative()).default([...defaultSenderOptions.retryMs]),
  claimMs: z.number().positive().default(defaultSenderOptions.claimMs),
  /** The interval between sweeps, which check all recent changes in case a hint was lost. */
  sweepMs: z.number().positive().default(60_000),
  /** The longest interval between checks for due deliveries. */
  pollMs: z.number().positive().default(5000),
});
export type DispatcherOptions = z.input<typeof Options>;

export interface Dispatcher {
  /**
   * Sends deliveries until the dispatcher is stopped. A stopped dispatcher cannot be started again and fails with
   * RUNTIME_CLOSED.
   */
  start(): void;
  /**
   * Aborts the requests in flight, so that another dispatcher can send them. The dispatcher has stopped when this
   * returns.
   */
  stop(): Promise<void>;
}

const maxPosts = 20;
/** The maximum number of concurrent requests per webhook, so that a slow webhook does not delay the others. */
const maxPostsPerWebhook = 4;
const pageDeliveries = 100;
const pruneMs = 3_600_000;
/** The pause after a failure of the store. */
const restMs = 1000;
/** The interval of checks for new webhooks while there are none. */
const idleMs = 1000;
const sweepId = 'sweep';
const Sweep = z.strictObject({ at: z.int() });

/** Notifies the webhooks of one workspace. Any number of dispatchers in any number of processes can share the work. */
export class WebhookDispatcher implements Dispatcher {
  readonly #scope: WebhookScope;
  readonly #atWork: RunningServices;
  readonly #options: z.infer<typeof Options>;
  readonly #stopping = new AbortController();
  readonly #log: OccurrenceLog;
  readonly #sender: DeliverySender;
  readonly #posts = new Map<string, { readonly webhook: WebhookId; readonly done: Promise<void> }>();
  readonly #again = new Map<SessionId, CancelTimer>();
  readonly #looking = new Mutex();
  #endRest: (() => void) | undefined;
  #hasNews = false;
  #running: Promise<unknown> | undefined;

  constructor(scope: WebhookScope, atWork: RunningServices, options: DispatcherOptions = {}) {
    this.#scope = scope;
    this.#atWork = atWork;
    this.#options = parseInput('the dispatcher', Options, options);
    this.#log = new OccurrenceLog(scope);
    this.#sender = new DeliverySender(scope, this.#options, this.#stopping.signal);
  }

  start(): void {
    if (this.#isStopped) throw serviceStopped('dispatcher', 'runtime.dispatcher()');
    this.#atWork.add(this);
    this.#running ??= Promise.all([this.#hear(), this.#sweepAgainAndAgain(), this.#sendWhatIsDue()]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wakeSender();
    await this.#running;
    for (const cancel of this.#again.values()) cancel();
    await this.#looking.settle();
    await Promise.all([...this.#posts.values()].map(({ done }) => done));
    this.#atWork.delete(this);
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted || this.#scope.closing.aborted;
  }

  async #rest(ms: number): Promise<void> {
    const { clock, closing } = this.#scope;
    const signal = AbortSignal.any([this.#stopping.signal, closing]);
    await clock.sleep(ms, { signal, keepsAlive: false });
  }

  /**
   * Runs the work. On a failure, reports a warning, pauses and returns undefined, so that the caller's loop retries.
   */
  async #trying<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (this.#isStopped) return undefined;
      this.#scope.onWarning(error);
      await this.#rest(restMs);
      return undefined;
    }
  }

  async #hear(): Promise<void> {
    const { signal } = this.#stopping;
    while (!this.#isStopped) {
      await this.#trying(async () => {
        for await (const { session } of readChanges(this.#scope, { signal })) {
          // While there are no webhooks, the store is not queried for every change. Changes are collected here
          // meanwhile, one per session.
          while (!this.#isStopped && (await heardSince(this.#scope)) === undefined) await this.#rest(idleMs);
          await this.#look(session);
        }
      });
    }
  }

  async #sweepAgainAndAgain(): Promise<void> {
    let prunedMs = Number.NEGATIVE_INFINITY;
    while (!this.#isStopped) {
      await this.#trying(() => this.#sweep());
      if (this.#scope.clock.elapsed() - prunedMs > pruneMs) {
        await this.#trying(() => pruneDeliveries(this.#scope));
        prunedMs = this.#scope.clock.elapsed();
      }
      await this.#rest(this.#options.sweepMs);
    }
  }

  /** Checks every session that changed since the last complete sweep of any dispatcher. */
  async #sweep(): Promise<void> {
    const { records, store, workspace, clock } = this.#scope;
    const startedAt = clock.now();
    const since = await heardSince(this.#scope);
    if (since === undefined) return;
    const last = await records.record(workspace, 'hook-cursor', sweepId);
    const from = Math.max(since, last ? Sweep.parse(last.body).at : 0) - clockSkewMs;
    let [found, done] = [0, 0];
    for await (const { id, seq } of changedSince((...asked) => store.list(...asked), workspace, from)) {
      found += 1;
      if (this.#log.isDone(id, seq) || (await this.#look(id))) done += 1;
      if (this.#isStopped) return;
    }
    if (found === 0 || done < found) return;
    const body = { at: startedAt };
    await records.writeRecords(workspace, [{ kind: 'hook-cursor', id: sweepId, onVersion: last?.version ?? 0, body }]);
  }

  /**
   * Checks one session at a time, so that hints, sweeps and timers do not interfere. Returns false on failure, and the
   * next sweep retries.
   */
  #look(session: SessionId): Promise<boolean> {
    const looked = this.#looking.run(async () => {
      if (this.#isStopped) return false;
      const { made, againAt } = await this.#log.look(session);
      if (made > 0) this.#wakeSender();
      if (againAt !== undefined) this.#lookAgain(session, againAt);
      return true;
    });
    return looked.catch((error) => {
      if (!this.#isStopped) this.#scope.onWarning(error);
      return false;
    });
  }

  #lookAgain(session: SessionId, atMs: number): void {
    if (this.#again.has(session)) return;
    const { clock } = this.#scope;
    const cancel = clock.after(Math.max(0, atMs - clock.now()), () => {
      this.#again.delete(session);
      void this.#look(session);
    });
    this.#again.set(session, cancel);
  }

  #wakeSender(): void {
    this.#hasNews = true;
    this.#endRest?.();
  }

  async #sendWhatIsDue(): Promise<void> {
    while (!this.#isStopped) {
      const nextAt = await this.#trying(() => this.#startPosts());
      const waitMs = Math.max(
        1,
        Math.min(this.#options.pollMs, (nextAt ?? Number.POSITIVE_INFINITY) - this.#scope.clock.now()),
      );
      const woken = new AbortController();
      this.#endRest = () => woken.abort();
      if (!this.#hasNews && !this.#isStopped) {
        const signal = AbortSignal.any([woken.signal, this.#scope.closing]);
        await this.#scope.clock.sleep(waitMs, { signal, keepsAlive: false });
      }
      this.#hasNews = false;
    }
  }

  /** Starts due deliveries while there is capacity. Returns the time at which the next delivery is due. */
  async #startPosts(): Promise<number | undefined> {
    const { records, workspace, clock } = this.#scope;
    const now = clock.now();
    const soon = await records.records(workspace, 'delivery', {
      limit: pageDeliveries,
      dueBy: now + this.#options.pollMs,
    });
    const due = soon.filter(({ id, dueAt = 0 }) => dueAt <= now && !this.#posts.has(id));
    const crowded = due.filter((record) => !this.#startPost(record));
    if (soon.length === pageDeliveries && crowded.length === due.length) await this.#postpone(crowded);
    return soon.find(({ dueAt = 0 }) => dueAt > now)?.dueAt;
  }

  #startPost(record: StoredRecord): boolean {
    const { webhook } = Delivery.pick({ webhook: true }).strip().parse(record.body);
    const ofWebhook = [...this.#posts.values()].filter((each) => each.webhook === webhook).length;
    if (this.#posts.size >= maxPosts || ofWebhook >= maxPostsPerWebhook) return false;
    const done = this.#trying(() => this.#sender.send(record)).then(() => {
      this.#posts.delete(record.id);
      this.#wakeSender();
    });
    this.#posts.set(record.id, { webhook, done });
    return true;
  }

  /**
   * Postpones deliveries of webhooks without capacity, because a full page of them would hide the deliveries of other
   * webhooks.
   */
  async #postpone(crowded: readonly StoredRecord[]): Promise<void> {
    const { records, workspace, clock } = this.#scope;
    if (crowded.length === 0) return;
    const dueAt = clock.now() + this.#options.pollMs;
    await records.writeRecords(
      workspace,
      crowded.map(({ body, version }) => writeDelivery(Delivery.parse(body), version, dueAt)),
    );
  }
}
