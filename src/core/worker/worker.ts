import type { z } from 'zod';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import { newId, type SessionId, type WorkspaceId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { type RunningServices, serviceStopped } from '../engine/running-services.ts';
import { thisMachine } from '../files/disk/machine.ts';
import { type Claim, type Holder, type Presence, preferMs, type Queue, type Work } from '../ports/queue.ts';
import { type SessionKey, sessionKeyName } from '../ports/store.ts';
import type { Timekeeper } from '../ports/timekeeper.ts';
import { Options, type WorkerOptions } from '../runs/worker-options.ts';
import { type Held, Leases } from './leases.ts';
import { NextLook } from './next-look.ts';
import { isGone, processHolder } from './process-holder.ts';
import type { WorkAccess } from './work-access.ts';
import { type Left, sayStranded, workOnSession } from './work-on-session.ts';

export interface Worker {
  /** Starts to work, and goes on until it is stopped. A worker that was stopped or drained fails with RUNTIME_CLOSED: make another one. */
  start(): Promise<void>;
  /** Works until there is nothing left to do, then returns. It can be called again, until the worker is stopped. If the worker is already at work, this waits for the end of that. */
  runUntilIdle(): Promise<void>;
  /** What it does now. */
  state(): WorkerCondition;
  /** Takes on nothing new, lets each session finish the step that it is in, for `forMs` at most, and stops; 25 s by default. */
  drain(options?: { readonly forMs?: number | undefined }): Promise<void>;
  /** Lets go of its sessions at once. Whoever takes them on goes on from the log. */
  stop(): Promise<void>;
}

export interface WorkerCondition {
  /** Sessions that it has. */
  readonly holds: number;
  readonly concurrency: number;
  readonly agents: readonly string[];
  readonly isEnding: boolean;
}

/** Whose sessions a worker works on. */
export interface WorkerField {
  /** Of one workspace; of all without it. */
  readonly workspace?: WorkspaceId | undefined;
  readonly queue: Queue;
  readonly clock: Timekeeper;
  /** Names of those it holds. */
  readonly agents: readonly string[];
  readonly data: string;
  /** Of the runtime. */
  readonly closing: AbortSignal;
  readonly atWork: RunningServices;
  scopeOf(workspace: WorkspaceId): WorkAccess;
  onWarning(problem: unknown): void;
}

/** After something failed. */
const restMs = 1000;
const defaultDrainMs = 25_000;
/** How many sessions of agents it lacks it looks at in one go. */
const strandedCount = 20;

const stopped = () => new PerdureError('RUNTIME_CLOSED', 'the worker was stopped');

/** A call waits for a session. */
interface Wait {
  readonly caller: SessionKey;
  readonly session: SessionId;
  /** Ends the waiting, where the call can be made again. */
  readonly leave: (() => void) | undefined;
}

/** Works on the runs of one workspace or of all. Any number of them, in any number of processes, share the work. */
export class RunWorker implements Worker {
  readonly #field: WorkerField;
  readonly #options: z.infer<typeof Options>;
  /** From the beginning of its work on. */
  #holder!: Holder;
  #place!: string;
  /** Of the work under way. */
  #stopping = new AbortController();
  #isDraining = false;
  #isStopped = false;
  readonly #leases: Leases;
  /** Under way: the work on a session, until it was given back. */
  readonly #busy = new Map<string, Promise<void>>();
  /** What calls of ours wait for: those who wait need no place of their own meanwhile. */
  readonly #waits = new Set<Wait>();
  /** Other workers of this machine that are at work: should one's process die, its work is taken on at once. */
  #neighbours: readonly Holder[] = [];
  readonly #nextLook: NextLook;
  #resting = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;
  /** While it works. */
  #loop: Promise<void> | undefined;
  /** It knows who it is. */
  #begun = Promise.withResolvers<void>();

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

  async drain({ forMs = defaultDrainMs }: { readonly forMs?: number | undefined } = {}): Promise<void> {
    this.#isDraining = true;
    this.#nextLook.wake();
    for (const { leave } of this.#waits) leave?.();
    if (this.#holder && !this.#stopping.signal.aborted) void this.#leases.beat(); // so that others know
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
    // What was left to a worker that has its files is looked at again, should that not have come.
    const lookAgain = () => clock.after(preferMs + 10, () => this.#nextLook.wake());
    let cancelSecondLook = lookAgain();
    const unwatch = queue.watchWork(workspace, () => {
      this.#nextLook.hear();
      cancelSecondLook();
      cancelSecondLook = lookAgain();
    });
    const { pollMs, leaseMs } = this.#options;
    const stopHeart = clock.every(leaseMs / 3, () => void this.#leases.beat(), { keepsAlive: true });
    const stopWatchdog = clock.every(leaseMs / 30, () => this.#leases.letGoOfDoubtful(), { keepsAlive: true });
    const lookMs = Math.min(pollMs, leaseMs / 3); // nobody tells when a lease lapses
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
      for (const cancel of [stopHeart, stopWatchdog, cancelSecondLook]) cancel();
      this.#nextLook.stop();
      await this.#leases.settle(); // a sign of life that comes after it has left would make it known again
      await queue.leave(this.#holder.worker).catch(onWarning);
    }
  }

  #isEnding(): boolean {
    return this.#isDraining || this.#stopping.signal.aborted;
  }

  #gone(): readonly string[] {
    return this.#neighbours.filter((holder) => isGone(holder, this.#holder.machine)).map(({ worker }) => worker);
  }

  /** Takes on what nobody else is doing, as far as there is room. True when there is nothing to do, now or in a moment. */
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

  /** What a worker of this machine had is free as soon as it is known that it died. False when there is nothing. */
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

  /** One of those that a caller waits for takes its place, before all others and whatever the limits: else all places could be taken by callers. */
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

  /** Says in sessions whose agent nobody has come to hold that they wait for one who does. */
  async #sweep(strandedMs: number, sessions: readonly SessionId[] | undefined): Promise<number> {
    this.#sweptAt = this.#field.clock.elapsed();
    const { taken } = await this.#claim({ count: strandedCount, sessions, strandedMs });
    for (const work of taken) this.#hold(work, this.#sweptAt);
    return taken.length;
  }

  /** The one session that this worker is for, and those that work for it. */
  async #only(): Promise<readonly SessionId[] | undefined> {
    const { session: only } = this.#options;
    const { workspace, scopeOf } = this.#field;
    if (only === undefined || workspace === undefined) return undefined;
    const { folds } = scopeOf(workspace);
    const found = [only];
    for (const session of found) {
      const { children } = await folds.head({ workspace, session });
      found.push(...Object.values(children).map((child) => child.session));
    }
    return found;
  }

  #hold(work: Work, claimedAt: number): void {
    const { workspace, session } = work;
    const held = this.#leases.take({ workspace, session }, claimedAt);
    const name = sessionKeyName(held.key);
    const isOurs = work.agent === '' || this.#field.agents.includes(work.agent);
    // It may have been given back without an answer yet.
    const before = this.#busy.get(name) ?? Promise.resolve();
    const done = before
      .then(() => this.#serve(held, isOurs))
      .finally(() => {
        if (this.#leases.drop(held)) this.#busy.delete(name);
        this.#nextLook.wake();
      });
    this.#busy.set(name, done);
  }

  /** Never fails: what went wrong is told, and the session is given back. */
  async #serve({ key, lost }: Held, isOurs: boolean): Promise<void> {
    const scope = this.#field.scopeOf(key.workspace);
    const signal = AbortSignal.any([lost.signal, this.#stopping.signal]);
    const hold = {
      scope,
      key,
      signal,
      isEnding: () => this.#isEnding(),
      isStillHeld: async () => (await this.#leases.beat()) && !lost.signal.aborted,
      waitFor: (session: SessionId, leave?: () => void) => this.#waitFor({ caller: key, session, leave }),
    };
    try {
      await this.#giveBack(key, isOurs ? await workOnSession(hold) : await sayStranded(hold));
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

  /** Again and again while the store is away: until the lease lapses nobody else would come. */
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

  /** There is something to do in a moment: it is not idle. */
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
