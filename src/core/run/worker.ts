import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import { newId, SessionId, systemActor } from '../../schema/ids.ts';
import { placeHere } from '../files/disk/place.ts';
import type { Holder, Work } from '../ports/queue.ts';
import type { SessionKey } from '../ports/store.ts';
import { endChildren } from '../service/cancel.ts';
import type { Scope } from '../service/scope.ts';
import { agentName } from '../session/agent.ts';
import { asJson } from '../session/as-json.ts';
import { beginDrafts } from '../session/begin-run.ts';
import { parseInput } from '../session/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { type WorkFor, workFor } from '../session/work-for.ts';
import { Conversation } from './conversation.ts';
import { driveRun } from './drive-run.ts';
import { endDrafts } from './end-run.ts';
import { preparing } from './prepare-worktree.ts';
import type { Written } from './preview.ts';
import { isGone, isNear, processHolder } from './process-holder.ts';
import { agentActor, type RunContext } from './run-context.ts';
import { RunFiles } from './run-files.ts';
import { RunWriter } from './run-writer.ts';
import { tellCaller } from './tell-caller.ts';

export interface WorkerOptions {
  /** Sessions worked on at once; 4 by default. */
  readonly concurrency?: number | undefined;
  /** Only this session. */
  readonly session?: SessionId | undefined;
  /** Without a sign of life for so long, others take over; 30 s by default. */
  readonly leaseMs?: number | undefined;
  /** Looks for work at least this often, should a hint be lost; 5 s by default. */
  readonly pollMs?: number | undefined;
}

const Options = z.strictObject({
  concurrency: z.int().positive().default(4),
  session: SessionId.optional(),
  leaseMs: z.int().positive().default(30_000),
  pollMs: z.int().positive().default(5000),
});

/** After the store failed. */
const restMs = 1000;
const leastWaitMs = 50;
/** How often the processes of this machine that are at work are looked at; no store is asked for it. */
const neighbourMs = 100;
/** Own writes wake us too, and are many. */
const fenceMs = 50;
const longestTimerMs = 2 ** 31 - 2;

export interface Worker {
  /** Takes on what there is to do until it is stopped. */
  start(): Promise<void>;
  /** Works until there is nothing to do, then returns. */
  runUntilIdle(): Promise<void>;
  /** Lets go of its sessions at once; whoever takes them on continues from the log. */
  stop(): Promise<void>;
}

const claimDrafts = (fold: SessionFold, work: WorkFor): readonly EventDraft[] | undefined => {
  if (work.do === 'nothing' || work.do === 'end-children') return undefined;
  if (work.do === 'begin') return beginDrafts(fold, work.input);
  const { run } = work;
  const common = { actor: run.requestedBy, turn: fold.turn, run: run.id };
  return [
    work.do === 'resume'
      ? { type: 'run.resumed', payload: {}, ...common }
      : { type: 'run.started', payload: { attempt: run.attempt + 1 }, ...common },
    ...(run.asked ? [{ type: 'message.abandoned', payload: { message: run.asked.message }, ...common } as const] : []),
  ];
};

/** What there is to do waits for somebody else; nothing where that was said. */
const agentDrafts = (fold: SessionFold, work: WorkFor): readonly EventDraft[] | undefined => {
  if (work.do === 'nothing' || work.do === 'end-children' || !fold.bound) return undefined;
  const { id, isTold } =
    work.do === 'begin'
      ? { id: work.input.run, isTold: work.input.lacksAgent }
      : { id: work.run.id, isTold: work.run.waitingFor === 'agent' };
  const { name, version } = fold.bound.agent;
  const reason = `AGENT_VERSION_UNAVAILABLE: no worker that holds ${name} version ${version} has taken it on`;
  const payload = { for: 'agent', reason } as const;
  return isTold ? undefined : [{ type: 'run.waiting', payload, actor: systemActor, turn: fold.turn, run: id }];
};

type Asked = Pick<RunContext, 'requestedBy' | 'from'>;

const askedBy = (work: WorkFor): Asked | undefined => {
  if (work.do === 'nothing' || work.do === 'end-children') return undefined;
  if (work.do === 'begin') return { requestedBy: work.input.by, from: work.input.from };
  return { requestedBy: work.run.requestedBy, from: work.run.from };
};

const isStoreFailure = (error: unknown): boolean => isPerdureError(error) && /^(STORE_|RUNTIME_)/.test(error.code);

/** Works on the runs of one workspace. Any number of them, in any number of processes, share the work. */
export class RunWorker implements Worker {
  readonly #scope: Scope;
  readonly #options: z.infer<typeof Options>;
  /** From the beginning of its work on. */
  #holder!: Holder;
  readonly #stopping = new AbortController();
  readonly #busy = new Map<string, Promise<void>>();
  /** Of agents that this runtime does not hold: not to be looked at again before something happens in them. */
  readonly #foreign = new Map<string, number>();
  /** Whether others work for the one session that this worker is for. */
  readonly #kin = new Map<SessionId, boolean>();
  /** Sessions that calls of ours wait for: those who wait need no place of their own meanwhile. */
  readonly #awaited = new Set<SessionId>();
  /** Other processes of this machine that are at work: should one die, its work is taken on at once. */
  #neighbours: readonly Holder[] = [];
  readonly #checking = new WeakSet<RunWriter>();
  readonly #notBefore = new Map<string, number>();
  #isWoken = false;
  #endRest: (() => void) | undefined;
  #loop: Promise<void> | undefined;

  constructor(scope: Scope, options: WorkerOptions = {}) {
    this.#scope = scope;
    this.#options = parseInput('the worker', Options, options);
  }

  async start(): Promise<void> {
    this.#loop ??= this.#work(false);
  }

  async runUntilIdle(): Promise<void> {
    this.#loop ??= this.#work(true);
    await this.#loop;
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new PerdureError('RUNTIME_CLOSED', 'the worker was stopped'));
    this.#wake();
    await this.#loop?.catch(() => undefined);
    await Promise.all(this.#busy.values());
  }

  async #work(untilIdle: boolean): Promise<void> {
    const { queue, workspace, onWarning, data } = this.#scope;
    this.#holder = await processHolder(newId('run').replace('run_', 'worker_'), data);
    const unwatch = queue.watchWork(workspace, () => this.#wake());
    try {
      while (!this.#stopping.signal.aborted) {
        const isIdle = await this.#takeOn().catch((error) => {
          onWarning(error);
          return false;
        });
        if (untilIdle && isIdle) return;
        await this.#rest();
      }
    } finally {
      unwatch();
    }
  }

  /** Also heard when it comes before the rest. */
  #wake(): void {
    this.#isWoken = true;
    this.#endRest?.();
  }

  /** Until a hint, the end of something at work, or the next look round. */
  async #rest(): Promise<void> {
    const woken = new AbortController();
    this.#endRest = () => woken.abort();
    const look = setInterval(() => {
      if (this.#neighbours.some((holder) => isGone(holder, this.#holder.machine))) this.#wake();
    }, neighbourMs);
    look.unref();
    if (!this.#isWoken) await sleep(this.#options.pollMs, undefined, { signal: woken.signal }).catch(() => undefined);
    clearInterval(look);
    this.#endRest = undefined;
    this.#isWoken = false;
  }

  /** Takes on what nobody else is doing, as far as there is room. True when there is nothing to do, now or in a moment. */
  async #takeOn(): Promise<boolean> {
    const { queue, workspace } = this.#scope;
    const free = this.#options.concurrency - this.#busy.size + this.#awaited.size;
    if (free <= 0) return false;
    const all = await queue.findWork(workspace, 100);
    this.#neighbours = all.flatMap(({ lease }) => (lease && isNear(lease.holder, this.#holder) ? [lease.holder] : []));
    const found = await Array.fromAsync(this.#ours(all));
    for (const work of found.filter((each) => !this.#isResting(each)).slice(0, free)) {
      const { session } = work;
      const { leaseMs } = this.#options;
      const isTaken = await queue.lease(work, { holder: this.#holder, forMs: leaseMs, from: work.lease?.holder });
      if (!isTaken) continue;
      const done = this.#serve(work)
        .catch((error) => {
          this.#leaveAlone(session, restMs);
          this.#scope.onWarning(error);
        })
        .finally(() => {
          this.#busy.delete(session);
          this.#wake();
        });
      this.#busy.set(session, done);
    }
    return found.length === 0 && this.#busy.size === 0;
  }

  #isResting({ session }: Work): boolean {
    return (this.#notBefore.get(session) ?? 0) > performance.now();
  }

  async *#ours(all: readonly Work[]): AsyncGenerator<Work> {
    const only = this.#options.session;
    for (const work of all) {
      if (this.#isForUs(work) && (only === undefined || (await this.#worksFor(only, work.session)))) yield work;
    }
  }

  async #worksFor(only: SessionId, session: SessionId): Promise<boolean> {
    if (session === only) return true;
    const known = this.#kin.get(session);
    if (known !== undefined) return known;
    const head = await this.#scope.store.head({ workspace: this.#scope.workspace, session });
    const caller = head?.summary.calledBy?.session;
    const isKin = caller !== undefined && (await this.#worksFor(only, caller));
    this.#kin.set(session, isKin);
    return isKin;
  }

  #isForUs({ session, seq, lease }: Work): boolean {
    if (this.#busy.has(session) || this.#foreign.get(session) === seq) return false;
    return !lease || lease.isExpired || isGone(lease.holder, this.#holder.machine);
  }

  async #serve(work: Work): Promise<void> {
    const { queue, clock, folds } = this.#scope;
    const key: SessionKey = { workspace: work.workspace, session: work.session };
    const lost = new AbortController();
    const heart = setInterval(() => void this.#beat(key, lost), this.#options.leaseMs / 3);
    let done: { seq: number; dueAt?: number | undefined } = { seq: 0 };
    try {
      for (let isSure = true; ; isSure = false) {
        const fold = await folds.head(key);
        const next = workFor(fold, clock.now());
        done = { seq: fold.seq, dueAt: next.do === 'nothing' ? next.dueAt : undefined };
        if (next.do === 'nothing' && !fold.run && fold.queue.length === 0) await tellCaller(this.#scope, fold);
        if (next.do === 'nothing' || this.#stopping.signal.aborted) break;
        // Whoever fenced it may have its lease too: nothing is taken back from them.
        if (!isSure) await this.#beat(key, lost);
        lost.signal.throwIfAborted();
        if (next.do === 'end-children') {
          await endChildren(this.#scope, key, (decide) => new RunWriter(this.#scope, key).claim(decide));
          continue;
        }
        if (!(await this.#workOnce(key, fold, lost.signal))) {
          await this.#leaveToOthers(work, fold);
          done = { seq: 0 };
          break;
        }
      }
    } catch (error) {
      if (!isPerdureError(error, 'FENCED') && !lost.signal.aborted && !this.#stopping.signal.aborted) throw error;
      done = { seq: 0 };
    } finally {
      clearInterval(heart);
      if (done.dueAt !== undefined) this.#leaveAlone(key.session, done.dueAt - clock.now());
      if (!lost.signal.aborted) await queue.release(key, { worker: this.#holder.worker, ...done });
    }
  }

  /** Who holds its agent has time to take it on, and is waited for then. */
  async #leaveToOthers(work: Work, seen: SessionFold): Promise<void> {
    const { clock } = this.#scope;
    const patienceMs = seen.at + this.#options.pollMs - clock.now();
    if (patienceMs > 0) return this.#leaveAlone(work.session, patienceMs);
    const writer = new RunWriter(this.#scope, { workspace: work.workspace, session: work.session });
    await writer.claim((fold) => agentDrafts(fold, workFor(fold, clock.now())));
    this.#foreign.set(work.session, work.seq);
  }

  /** And looks again then. The store's clock may say that it is time when ours does not yet: not again and again meanwhile. */
  #leaveAlone(session: SessionId, forMs: number): void {
    const ms = Math.min(Math.max(forMs, leastWaitMs), longestTimerMs);
    this.#notBefore.set(session, performance.now() + ms);
    const timer = setTimeout(() => this.#wake(), ms + 1);
    timer.unref();
    this.#stopping.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }

  async #beat(key: SessionKey, lost: AbortController): Promise<void> {
    try {
      const { leaseMs } = this.#options;
      if (await this.#scope.queue.lease(key, { holder: this.#holder, forMs: leaseMs })) return;
      lost.abort(new PerdureError('FENCED', `another worker has ${key.session} now`));
    } catch (error) {
      this.#scope.onWarning(error);
    }
  }

  /** Claims the session and goes on with its run. False when this worker does not hold its agent. */
  async #workOnce(key: SessionKey, seen: SessionFold, lost: AbortSignal): Promise<boolean> {
    const scope = this.#scope;
    const agent = seen.bound && scope.agents.get(agentName(seen.bound.agent));
    if (!agent) return false;
    const writer = new RunWriter(scope, key);
    let asked: Asked | undefined;
    const claimed = await writer.claim((fold) => {
      const work = workFor(fold, scope.clock.now());
      asked = askedBy(work);
      return claimDrafts(fold, work);
    });
    if (!claimed || !asked) return true;
    await tellCaller(scope, seen);
    const run = claimed.find((event) => event.run)!.run!;
    const fenced = new AbortController();
    const unwatch = scope.store.watch(key, () => void this.#checkFence(writer, fenced));
    const signal = AbortSignal.any([lost, fenced.signal, this.#stopping.signal]);
    const prepare = preparing({ scope, writer, run, signal }, agent);
    const fold = await writer.fold();
    const place = await placeHere(scope.data, key, fold.boundTo);
    using files = new RunFiles({ scope, writer, place, run, tools: agent.tools, prepare }, fold);
    const context: RunContext = {
      scope,
      writer,
      conversation: new Conversation(scope, writer),
      run,
      ...asked,
      agent,
      tools: agent.tools,
      files,
      signal,
      preview: (written: Written) => scope.previews.tell(key, written),
      waitFor: (session) => {
        this.#awaited.add(session);
        this.#wake();
        return { [Symbol.dispose]: () => void this.#awaited.delete(session) };
      },
    };
    try {
      await driveRun(context, await scope.models(agent.model));
    } catch (error) {
      if (fenced.signal.aborted || isPerdureError(error, 'FENCED')) return true;
      if (context.signal.aborted || isStoreFailure(error)) throw error;
      await this.#fail(context, error);
    } finally {
      unwatch();
    }
    return true;
  }

  /** What no step can deal with ends the run, and is said there. */
  async #fail({ writer, run, agent }: RunContext, cause: unknown): Promise<void> {
    const code = isPerdureError(cause) ? cause.code : 'DEFECT';
    const message = String(asJson(cause instanceof Error ? cause.message : String(cause)));
    if (code === 'DEFECT') this.#scope.onWarning(cause);
    await writer.decide((fold) =>
      endDrafts(
        fold,
        { status: 'failed', error: { code, message } },
        {
          run,
          actor: agentActor({ agent }),
          now: this.#scope.clock.now(),
        },
      ),
    );
  }

  /** Whoever raised the epoch has ended what this worker was doing: its tools are told at once. */
  async #checkFence(writer: RunWriter, fenced: AbortController): Promise<void> {
    if (this.#checking.has(writer)) return;
    this.#checking.add(writer);
    await sleep(fenceMs, undefined, { ref: false });
    this.#checking.delete(writer);
    const head = await this.#scope.store.head(writer.key).catch(() => undefined);
    if (head && head.epoch !== writer.epoch) fenced.abort(new PerdureError('FENCED', 'the run was taken away'));
  }
}
