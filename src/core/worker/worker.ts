import type { z } from 'zod';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import { newId, type SessionId, type WorkspaceId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { longestTimerMs } from '../../schema/timer-limit.ts';
import type { Folds } from '../engine/folds.ts';
import { isGone, processHolder } from '../engine/process-holder.ts';
import { type RunningServices, serviceStopped } from '../engine/running-services.ts';
import { thisMachine } from '../files/disk/machine.ts';
import { despiteDamage } from '../maintenance/quarantine.ts';
import { type Claim, type Holder, type Presence, preferMs, type Queue, type Work } from '../ports/queue.ts';
import { type SessionKey, sessionKeyName } from '../ports/store.ts';
import type { CancelTimer, Timekeeper } from '../ports/timekeeper.ts';
import { Options, type WorkerOptions } from '../runs/worker-options.ts';
import { type Held, Leases } from './leases.ts';
import { NextLook } from './next-look.ts';
import type { WorkAccess } from './work-access.ts';
import { type Left, sayStranded, workOnSession } from './work-on-session.ts';

export interface Worker {
  /**
   * Starts to execute runs, until the worker is stopped. Fails with RUNTIME_CLOSED if the worker was already stopped
   * or drained. In that case create a new worker.
   */
  start(): Promise<void>;
  /**
   * Executes runs until no work is left, then returns. It can be called repeatedly, until the worker is stopped. If
   * the worker is already running, this waits until that work is done.
   */
  runUntilIdle(): Promise<void>;
  /** The current state of the worker. */
  state(): WorkerCondition;
  /** Claims no new work, lets each session finish its current step within `forMs` (25 s by default), and stops. */
  drain(options?: { readonly forMs?: number | undefined }): Promise<void>;
  /** Stops immediately and releases its sessions. Other workers continue them from the log. */
  stop(): Promise<void>;
}

export interface WorkerCondition {
  /** The number of sessions that the worker holds. */
  readonly holds: number;
  readonly concurrency: number;
  readonly agents: readonly string[];
  readonly isEnding: boolean;
}

/** The sessions that a worker serves, and the dependencies that it uses. */
export interface WorkerField {
  /** The only workspace to serve. Absent means all workspaces. */
  readonly workspace?: WorkspaceId | undefined;
  readonly queue: Queue;
  readonly clock: Timekeeper;
  /** The agents that the worker can execute, as `name@version`. */
  readonly agents: readonly string[];
  readonly data: string;
  /** Aborts when the runtime closes. */
  readonly closing: AbortSignal;
  readonly atWork: RunningServices;
  /** Whether an idle worker keeps the process alive. A busy worker always does. */
  readonly keepsAlive: boolean;
  scopeOf(workspace: WorkspaceId): WorkAccess;
  onWarning(problem: unknown): void;
  /** Called when the worker begins to work. */
  onBegin?(worker: RunWorker): void;
}

/** The delay after a failure. */
const restMs = 1000;
const defaultDrainMs = 25_000;
/** The maximum number of stranded sessions that one sweep claims. */
const strandedCount = 20;

const stopped = () => new PerdureError('RUNTIME_CLOSED', 'the worker was stopped');

/** The sessions of a session's subagents. None if its log is damaged, because the worker quarantines it. */
const childrenOf = async (folds: Folds, key: SessionKey): Promise<readonly SessionId[]> => {
  try {
    return Object.values((await folds.head(key)).children).map(({ session }) => session);
  } catch (error) {
    if (isPerdureError(error, 'EVENT_DAMAGED')) return [];
    throw error;
  }
};

/** A call that waits for another session. */
interface Wait {
  readonly caller: SessionKey;
  readonly session: SessionId;
  /** Makes the call stop waiting. Undefined if the call must not run again. */
  readonly leave: (() => void) | undefined;
}

/**
 * Executes the runs of one workspace or of all. Any number of workers in any number of processes can share the work.
 */
export class RunWorker implements Worker {
  readonly #field: WorkerField;
  readonly #options: z.infer<typeof Options>;
  /** Set when the worker begins to work. */
  #holder!: Holder;
  #place!: string;
  /** Aborts the work in progress. */
  #stopping = new AbortController();
  #isDraining = false;
  #isStopped = false;
  readonly #leases: Leases;
  /** The work in progress on each session, until the session is released. */
  readonly #busy = new Map<string, Promise<void>>();
  /** The sessions that this worker's calls wait for. A waiting caller uses none of the concurrency. */
  readonly #waits = new Set<Wait>();
  /** Other workers on this machine. If the process of one of them dies, its sessions are claimed immediately. */
  #neighbours: readonly Holder[] = [];
  readonly #nextLook: NextLook;
  #resting = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;
  /** Set while the worker is running. */
  #loop: Promise<void> | undefined;
  /** Resolved once `#holder` is set. */
  #begun = Promise.withResolvers<void>();
  /** Cancels the timer that keeps the process alive. Undefined while there is no such timer. */
  #letProcessEnd: CancelTimer | undefined;

  constructor(field: WorkerField, options: WorkerOptions = {}) {
    this.#field = field;
    this.#options = parseInput('the worker', Options, options);
    const { leaseMs } = this.#options;
    this.#nextLook = new NextLook(field.clock);
    this.#leases = new Leases({
      queue: field.queue,
      clock: field.clock,
      leaseMs,
      presence: () => this.#presence(),
      onWarning: field.onWarning,
    });
  }

  async start(): Promise<void> {
    const work = this.#begin(false);
    await Promise.race([this.#begun.promise, work]);
  }

  async runUntilIdle(): Promise<void> {
    await this.#begin(true);
  }

  state(): WorkerCondition {
    const { concurrency } = this.#options;
    return { holds: this.#busy.size, concurrency, agents: this.#field.agents, isEnding: this.#isEnding() };
  }

  /** Whether the worker serves the sessions of every workspace. */
  get servesAll(): boolean {
    return this.#field.workspace === undefined && this.#options.session === undefined;
  }

  /** Whether the worker serves this session. */
  serves({ workspace, session }: SessionKey): boolean {
    const { workspace: own = workspace } = this.#field;
    const { session: only = session } = this.#options;
    return own === workspace && only === session && !this.#isEnding();
  }

  async drain({ forMs = defaultDrainMs }: { readonly forMs?: number | undefined } = {}): Promise<void> {
    this.#isDraining = true;
    this.#nextLook.wake();
    for (const { leave } of this.#waits) leave?.();
    if (this.#holder && !this.#stopping.signal.aborted) void this.#leases.beat(); // reports the draining
    const late = this.#field.clock.sleep(forMs, { signal: this.#stopping.signal });
    await Promise.race([Promise.all(this.#busy.values()), late]);
    await this.stop();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopping.abort(stopped());
    this.#nextLook.wake();
    await this.#loop?.catch(() => undefined);
  }

  #begin(untilIdle: boolean): Promise<void> {
    const { atWork, closing } = this.#field;
    if (this.#isStopped || closing.aborted) throw serviceStopped('worker', 'runtime.worker()');
    if (this.#loop) return this.#loop;
    this.#stopping = new AbortController();
    this.#begun = Promise.withResolvers();
    atWork.add(this);
    this.#field.onBegin?.(this);
    this.#loop = this.#work(untilIdle).finally(() => {
      atWork.delete(this);
      this.#loop = undefined;
    });
    return this.#loop;
  }

  async #work(untilIdle: boolean): Promise<void> {
    const { queue, clock, workspace, onWarning, data } = this.#field;
    this.#place = await thisMachine(data);
    this.#holder = await processHolder(newId('run').replace('run_', 'worker_'), data);
    this.#begun.resolve();
    // Polls again for sessions that were left to a worker with their files, in case that worker did not claim them.
    const lookAgain = () => clock.after(preferMs + 10, () => this.#nextLook.wake());
    let cancelSecondLook = lookAgain();
    const unwatch = queue.watchWork(workspace, () => {
      this.#nextLook.hear();
      cancelSecondLook();
      cancelSecondLook = lookAgain();
    });
    const { pollMs, leaseMs } = this.#options;
    const stopHeart = clock.every(leaseMs / 3, () => void this.#leases.beat());
    const stopWatchdog = clock.every(leaseMs / 30, () => this.#leases.letGoOfDoubtful());
    this.#keepAlive();
    const lookMs = Math.min(pollMs, leaseMs / 3); // no hint reports that a lease has expired
    let failingSince: number | undefined;
    try {
      await this.#leases.beat();
      while (!this.#stopping.signal.aborted) {
        try {
          const isIdle = await this.#takeOn(untilIdle);
          failingSince = undefined;
          if (untilIdle && isIdle) return;
        } catch (error) {
          onWarning(error);
          failingSince ??= clock.elapsed();
          if (untilIdle && clock.elapsed() - failingSince > this.#options.patienceMs) throw error;
        }
        await this.#nextLook.rest(failingSince === undefined ? lookMs : restMs, () => this.#gone().length > 0);
      }
    } finally {
      unwatch();
      this.#stopping.abort(stopped());
      await Promise.all(this.#busy.values());
      for (const cancel of [stopHeart, stopWatchdog, cancelSecondLook, this.#letProcessEnd]) cancel?.();
      this.#letProcessEnd = undefined;
      this.#nextLook.stop();
      await this.#leases.settle(); // a heartbeat after `leave` would register the worker again
      await queue.leave(this.#holder.worker).catch(onWarning);
    }
  }

  #keepAlive(): void {
    const { clock, keepsAlive } = this.#field;
    if (keepsAlive || this.#busy.size > 0) {
      this.#letProcessEnd ??= clock.every(longestTimerMs, () => {}, { keepsAlive: true });
    } else {
      this.#letProcessEnd?.();
      this.#letProcessEnd = undefined;
    }
  }

  #isEnding(): boolean {
    return this.#isDraining || this.#stopping.signal.aborted;
  }

  #gone(): readonly string[] {
    return this.#neighbours.filter((holder) => isGone(holder, this.#holder.machine)).map(({ worker }) => worker);
  }

  /** Claims free sessions, as far as there is capacity. Returns true if there is nothing to do, now or soon. */
  async #takeOn(untilIdle: boolean): Promise<boolean> {
    if (this.#isEnding()) return false;
    const callers = Map.groupBy(this.#waits, ({ caller }) => sessionKeyName(caller));
    for (const waits of callers.values()) await this.#takeOnAwaited(waits);
    const count = this.#options.concurrency - this.#busy.size + callers.size;
    if (count <= 0) return false;
    const sessions = await this.#only();
    const isIdle = !(await this.#takeFree(count, sessions)) && this.#busy.size === 0 && this.#resting === 0;
    const isTime = this.#field.clock.elapsed() - this.#sweptAt >= this.#options.pollMs;
    const stranded = (untilIdle ? isIdle : isTime)
      ? await this.#sweep(untilIdle ? 0 : this.#options.pollMs, sessions)
      : 0;
    return isIdle && stranded === 0;
  }

  /**
   * Claims free sessions, and those of workers on this machine that are known to be dead. Returns false if there are
   * none.
   */
  async #takeFree(count: number, sessions: readonly SessionId[] | undefined): Promise<boolean> {
    for (;;) {
      const sentAt = this.#nextLook.begin();
      const { taken, neighbours } = await this.#claim({ count, sessions, gone: this.#gone() });
      this.#neighbours = neighbours;
      this.#nextLook.end(sentAt, taken.length > 0);
      for (const work of taken) this.#hold(work, sentAt);
      if (taken.length > 0 || this.#gone().length === 0) return taken.length > 0;
    }
  }

  /**
   * Claims a session that a call of this worker waits for, before all other sessions and regardless of the limits.
   * Otherwise waiting callers could take up all capacity.
   */
  async #takeOnAwaited(waits: readonly Wait[]): Promise<void> {
    const { workspace } = waits[0]!.caller;
    const sessions = waits.map(({ session }) => session);
    if (sessions.some((session) => this.#busy.has(sessionKeyName({ workspace, session })))) return;
    const sentAt = this.#field.clock.elapsed();
    const { taken } = await this.#claim({ count: 1, workspace, sessions, limits: undefined });
    for (const work of taken) this.#hold(work, sentAt);
  }

  #claim(claim: Pick<Claim, 'count' | 'sessions' | 'gone' | 'strandedMs'> & Partial<Claim>) {
    const { queue, workspace, agents } = this.#field;
    const { leaseMs, limits } = this.#options;
    return queue.claim({
      holder: this.#holder,
      forMs: leaseMs,
      agents,
      workspace,
      place: this.#place,
      limits,
      held: this.#leases.keys,
      ...claim,
    });
  }

  /** Claims sessions whose agent no worker has, and records in their logs that they wait for such a worker. */
  async #sweep(strandedMs: number, sessions: readonly SessionId[] | undefined): Promise<number> {
    this.#sweptAt = this.#field.clock.elapsed();
    const { taken } = await this.#claim({ count: strandedCount, sessions, strandedMs });
    for (const work of taken) this.#hold(work, this.#sweptAt);
    return taken.length;
  }

  /**
   * The ids of the one session that this worker serves and of its subagents' sessions. Undefined if the worker is not
   * limited to one session.
   */
  async #only(): Promise<readonly SessionId[] | undefined> {
    const { session: only } = this.#options;
    const { workspace, scopeOf } = this.#field;
    if (only === undefined || workspace === undefined) return undefined;
    const { folds } = scopeOf(workspace);
    const found = [only];
    for (const session of found) {
      found.push(...(await childrenOf(folds, { workspace, session })));
    }
    return found;
  }

  #hold(work: Work, claimedAt: number): void {
    const { workspace, session } = work;
    const held = this.#leases.take({ workspace, session }, claimedAt);
    const name = sessionKeyName(held.key);
    const isOurs = work.agent === '' || this.#field.agents.includes(work.agent);
    // The session may have been released while the response of the store is still pending.
    const before = this.#busy.get(name) ?? Promise.resolve();
    const done = before
      .then(() => this.#serve(held, isOurs))
      .finally(() => {
        if (this.#leases.drop(held)) this.#busy.delete(name);
        this.#keepAlive();
        this.#nextLook.wake();
      });
    this.#busy.set(name, done);
    this.#keepAlive();
  }

  /** Executes a session. Never rejects. Problems become warnings, and the session is released. */
  async #serve({ key, lost }: Held, isOurs: boolean): Promise<void> {
    const scope = this.#field.scopeOf(key.workspace);
    const signal = AbortSignal.any([lost.signal, this.#stopping.signal]);
    const hold = {
      scope,
      key,
      by: { worker: this.#holder.worker, machine: this.#place },
      signal,
      isEnding: () => this.#isEnding(),
      isStillHeld: async () => (await this.#leases.beat()) && !lost.signal.aborted,
      waitFor: (session: SessionId, leave?: () => void) => this.#waitFor({ caller: key, session, leave }),
    };
    try {
      const work = () => (isOurs ? workOnSession(hold) : sayStranded(hold));
      await this.#giveBack(key, await despiteDamage(scope, key, work, scope.onWarning));
    } catch (error) {
      const isTaken = isPerdureError(error, 'FENCED') || signal.aborted;
      if (!isTaken) scope.onWarning(error);
      await this.#giveBack(key, {}, isTaken ? undefined : restMs);
    }
  }

  #waitFor(wait: Wait): Disposable {
    this.#waits.add(wait);
    this.#nextLook.wake();
    if (this.#isDraining) wait.leave?.();
    return { [Symbol.dispose]: () => void this.#waits.delete(wait) };
  }

  /**
   * Releases a session. Retries while the store is unreachable, because no other worker can claim the session before
   * its lease expires.
   */
  async #giveBack(key: SessionKey, left: Left, inMs?: number): Promise<void> {
    const { queue, clock, onWarning } = this.#field;
    const { worker } = this.#holder;
    for (;;) {
      try {
        if (left.doneTo === undefined) await queue.release(key, { worker, inMs, lacksAgent: left.lacksAgent });
        else {
          const place = left.hasFiles ? this.#place : undefined;
          await queue.finish(key, { worker, seq: left.doneTo, inMs: left.inMs, place });
        }
        break;
      } catch (error) {
        onWarning(error);
        if (this.#stopping.signal.aborted) return;
        await clock.sleep(restMs, { signal: this.#stopping.signal });
      }
    }
    const wait = left.doneTo === undefined ? inMs : left.inMs;
    if (wait !== undefined) this.#nextLook.wakeIn(wait + 1);
    if (inMs !== undefined) this.#restFor(inMs);
  }

  /** Pauses after a failure. The worker is not idle, because the failed session is due again soon. */
  #restFor(ms: number): void {
    this.#resting++;
    this.#field.clock.after(ms, () => this.#resting--);
  }

  #presence(): Presence {
    const { workspace, agents } = this.#field;
    const { concurrency } = this.#options;
    return { holder: this.#holder, place: this.#place, workspace, agents, concurrency, isDraining: this.#isDraining };
  }
}
