import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import { type RunId, type SessionId, systemActor } from '../../schema/ids.ts';
import type { RunFailure } from '../../schema/run-failure-catalog.ts';
import type { Written } from '../engine/preview.ts';
import { readPartialAnswer } from '../engine/read-partial-answer.ts';
import { RunWriter } from '../engine/run-writer.ts';
import type { FollowAccess } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import { settleStops } from '../engine/settle-stops.ts';
import { placeHere } from '../files/disk/place.ts';
import type { Head, SessionKey } from '../ports/store.ts';
import { endChildren } from '../runs/cancel.ts';
import { memberOf } from '../session/account.ts';
import { agentName } from '../session/agent.ts';
import { asJson } from '../session/events/as-json.ts';
import type { SessionFold } from '../session/fold.ts';
import { beginDrafts, type RunWorkedBy, workedBy } from '../session/runs/begin-run.ts';
import { endDrafts } from '../session/runs/end-run.ts';
import { abandoned, type PartialAnswer } from '../session/runs/partial-answer.ts';
import { type WorkFor, workFor } from '../session/runs/work-for.ts';
import { RunFiles } from '../session-files/run-files.ts';
import { Conversation } from './conversation.ts';
import { currentRequester } from './current-requester.ts';
import { driveRun } from './drive-run.ts';
import { notifyCaller } from './notify-caller.ts';
import { preparing } from './prepare-worktree.ts';
import { findHandChanges } from './report-handoff.ts';
import { agentActor, type RunContext } from './run-context.ts';
import { runModels } from './run-models.ts';
import { toolsOfRun } from './run-tools.ts';
import { warnChangedAgent } from './warn-changed-agent.ts';
import type { WorkAccess } from './work-access.ts';

/** Limits how often the head is read, because the run's own frequent writes trigger the watch too. */
const fenceMs = 50;

/** A session that a worker holds. */
export interface Hold {
  readonly scope: WorkAccess;
  readonly key: SessionKey;
  readonly by: RunWorkedBy;
  /** Aborts when the worker loses the session or stops. */
  readonly signal: AbortSignal;
  /** Whether the worker is stopping, so that no further step may begin. */
  isEnding(): boolean;
  /** Asks the queue whether the worker still holds the session. */
  isStillHeld(): Promise<boolean>;
  /**
   * Registers that a call waits for another session, so that this worker executes that session too. The worker calls
   * `leave` when it stops.
   */
  waitFor(session: SessionId, leave?: () => void): Disposable;
}

/** How a worker releases a session. */
export type Left =
  /** All work up to the seq `doneTo` is done. The session is due again in `inMs`, if set. */
  | { readonly doneTo: number; readonly inMs: number | undefined; readonly hasFiles: boolean }
  | { readonly doneTo?: undefined; readonly lacksAgent?: boolean };

interface Claim {
  readonly by: RunWorkedBy;
  /** What an earlier worker had shown of an answer that it did not complete. */
  readonly partial: PartialAnswer | undefined;
}

const isRunWork = (work: WorkFor): work is Extract<WorkFor, { do: 'begin' | 'take-over' | 'resume' }> =>
  work.do === 'begin' || work.do === 'take-over' || work.do === 'resume';

const claimDrafts = (fold: SessionFold, work: WorkFor, { by, partial }: Claim): readonly EventDraft[] | undefined => {
  if (!isRunWork(work)) return undefined;
  if (work.do === 'begin') return beginDrafts(fold, work.input, by);
  const { run } = work;
  const common = { actor: run.requestedBy, turn: fold.turn, run: run.id };
  return [
    work.do === 'resume'
      ? { type: 'run.resumed', payload: workedBy(fold, by), ...common }
      : { type: 'run.started', payload: { attempt: run.attempt + 1, ...workedBy(fold, by) }, ...common },
    ...(run.asked ? [abandoned(run.asked.message, 'stopped', partial, common)] : []),
  ];
};

/**
 * Returns events that record that the run waits for a worker with its agent. Returns undefined if the log already says
 * so.
 */
const agentDrafts = (fold: SessionFold, work: WorkFor): readonly EventDraft[] | undefined => {
  if (!isRunWork(work) || !fold.bound) return undefined;
  const { id, isTold } =
    work.do === 'begin'
      ? { id: work.input.run, isTold: work.input.lacksAgent }
      : { id: work.run.id, isTold: work.run.waitingFor === 'agent' };
  const { name, version } = fold.bound.agent;
  const reason = `AGENT_VERSION_UNAVAILABLE: no worker that holds ${name} version ${version} has claimed it`;
  const payload = { for: 'agent', reason } as const;
  return isTold ? undefined : [{ type: 'run.waiting', payload, actor: systemActor, turn: fold.turn, run: id }];
};

type Asked = Pick<RunContext, 'requestedBy' | 'from'>;

const askedBy = (work: WorkFor): Asked | undefined => {
  if (!isRunWork(work)) return undefined;
  if (work.do === 'begin') return { requestedBy: work.input.by, from: work.input.from };
  return { requestedBy: work.run.requestedBy, from: work.run.from };
};

/** A run that this worker has claimed. */
interface Claimed extends Asked, Pick<RunContext, 'writer' | 'run' | 'agent'> {}

const isStoreFailure = (error: unknown): boolean => isPerdureError(error) && /^(STORE_|RUNTIME_)/.test(error.code);

/** Ends a run whose error no step can handle, and records the error as the run's failure. */
const fail = async (scope: WorkAccess, { writer, run, agent }: Claimed, cause: unknown): Promise<void> => {
  const code = isPerdureError(cause) ? cause.code : 'DEFECT';
  const message = String(asJson(cause instanceof Error ? cause.message : String(cause)));
  if (code === 'DEFECT') scope.onWarning(cause);
  const by = { run, actor: agentActor({ agent }), now: scope.clock.now() };
  await writer.decide(async (fold) => {
    const partial = await readPartialAnswer(scope, writer.key, fold);
    return endDrafts(fold, { status: 'failed', error: { code, message } }, { ...by, partial });
  });
};

/** Aborts the run's tools as soon as another writer claims the session, or the store loses an event of the run. */
const watchFence = ({ store, clock }: FollowAccess, writer: RunWriter, fenced: AbortController): (() => void) => {
  let isChecking = false;
  let newest = 0;
  const check = async (): Promise<void> => {
    if (isChecking) return;
    isChecking = true;
    await clock.sleep(fenceMs, { keepsAlive: false });
    isChecking = false;
    const isOwn = newest <= writer.writtenTo;
    newest = 0;
    if (isOwn) return;
    const head = await store.head(writer.key).catch(() => undefined);
    if (head && !writer.holds(head)) fenced.abort(new PerdureError('FENCED', 'the run was taken away'));
  };
  return store.watch(writer.key, (seq = Number.POSITIVE_INFINITY) => {
    newest = Math.max(newest, seq);
    void check();
  });
};

/**
 * The result of driving a run: it continued as far as it could, was fenced by another writer, or needs an agent that
 * this worker lacks.
 */
type Went = 'on' | 'fenced' | 'lacks-agent';

/** Sets up a claimed run and drives it. */
const drive = async (hold: Hold, claimed: Claimed, signal: AbortSignal): Promise<void> => {
  const { key, isEnding, waitFor } = hold;
  const { writer, run, agent, requestedBy } = claimed;
  const scope = { ...hold.scope, blobs: hold.scope.blobsFor(memberOf(requestedBy)) };
  const tools = toolsOfRun(agent, scope);
  const prepare = preparing({ scope, writer, run, signal }, agent);
  const fold = await writer.fold();
  const place = await placeHere(scope.data, key, fold.boundTo);
  using files = new RunFiles({ scope, writer, place, run, tools, prepare }, fold);
  const conversation = new Conversation(scope, writer);
  const preview = (written: Written) => scope.previews.tell(key, written);
  const models = runModels(scope, agent);
  const context = { ...claimed, scope, conversation, models, tools, files, signal, isEnding, preview, waitFor };
  await findHandChanges(context);
  await driveRun(context);
};

/** Drives a claimed run until it ends, waits, is paused or is fenced. */
const driveWatched = async (hold: Hold, claimed: Claimed): Promise<Went> => {
  const { scope } = hold;
  const fenced = new AbortController();
  const signal = AbortSignal.any([hold.signal, fenced.signal]);
  const unwatch = watchFence(scope, claimed.writer, fenced);
  try {
    await drive(hold, claimed, signal);
  } catch (error) {
    if (fenced.signal.aborted || isPerdureError(error, 'FENCED')) return 'fenced';
    if (signal.aborted || isStoreFailure(error)) throw error;
    await fail(scope, claimed, error);
  } finally {
    unwatch();
  }
  return 'on';
};

/** Ends a claimed run whose requester may no longer have runs, before any step of it. */
const endRefused = async (scope: WorkAccess, writer: RunWriter, run: RunId, error: RunFailure): Promise<Went> => {
  const by = { run, actor: systemActor, now: scope.clock.now() };
  try {
    await writer.decide(async (fold) => {
      const partial = await readPartialAnswer(scope, writer.key, fold);
      return endDrafts(fold, { status: 'failed', error }, { ...by, partial });
    });
  } catch (problem) {
    if (isPerdureError(problem, 'FENCED')) return 'fenced';
    throw problem;
  }
  return 'on';
};

/** Claims the session's run and drives it. */
const goOn = async (hold: Hold, seen: SessionFold, head: Head | undefined): Promise<Went> => {
  const { scope, key } = hold;
  const agent = seen.bound && scope.agents.get(agentName(seen.bound.agent));
  if (!seen.bound || !agent) return 'lacks-agent';
  warnChangedAgent(scope, key, seen.bound, agent);
  hold.signal.throwIfAborted();
  const writer = new RunWriter(scope, key);
  let asked: Asked | undefined;
  const claimed = await writer.claim(async (fold) => {
    const work = workFor(fold, scope.clock.now());
    asked = askedBy(work);
    return claimDrafts(fold, work, { by: hold.by, partial: await readPartialAnswer(scope, key, fold) });
  }, head);
  if (!claimed || !asked) return 'on';
  const requester = await currentRequester(scope, asked.requestedBy, asked.from);
  await notifyCaller(scope, seen);
  const run = claimed.find((event) => event.run)!.run!;
  if ('refusal' in requester) return endRefused(scope, writer, run, requester.refusal);
  return driveWatched(hold, { ...asked, from: requester.from, writer, run, agent });
};

/** Executes all work of a session until nothing is left or the worker stops. */
export const workOnSession = async (hold: Hold): Promise<Left> => {
  const { scope, key } = hold;
  const { folds, clock, store } = scope;
  for (let isKnown = false; ; isKnown = true) {
    // Reads the head only once, because events that others add later queue the session again.
    const head = isKnown ? undefined : await store.head(key);
    if (!isKnown && !head) throw sessionNotFound(key);
    const fold = await (head ? folds.atHead(head) : folds.recent(key));
    const next = workFor(fold, clock.now());
    if (next.do === 'nothing') {
      if (!fold.run && fold.queue.length === 0) await notifyCaller(scope, fold);
      const inMs = next.dueAt === undefined ? undefined : Math.max(next.dueAt - clock.now(), 0);
      return { doneTo: fold.seq, inMs, hasFiles: fold.files !== undefined };
    }
    if (hold.isEnding()) return {};
    if (next.do === 'settle') {
      await settleStops(scope, key);
      continue;
    }
    if (next.do === 'end-children') {
      await endChildren(scope, key, (decide) => new RunWriter(scope, key).claim(decide));
      continue;
    }
    const went = await goOn(hold, fold, head);
    if (went === 'lacks-agent') return sayStranded(hold);
    // The run may have been ended by a person, or claimed by another worker. If another worker holds the session now,
    // it must not be fenced.
    if (went === 'fenced' && !(await hold.isStillHeld())) return {};
  }
};

/**
 * Records that the session's run waits for a worker with its agent, because none has claimed it. A stop needs no agent,
 * so it is settled here too.
 */
export const sayStranded = async ({ scope, key }: Pick<Hold, 'scope' | 'key'>): Promise<Left> => {
  await settleStops(scope, key);
  await new RunWriter(scope, key).claim((fold) => agentDrafts(fold, workFor(fold, scope.clock.now())));
  return { lacksAgent: true };
};
