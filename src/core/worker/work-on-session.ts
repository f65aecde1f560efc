import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import { type SessionId, systemActor } from '../../schema/ids.ts';
import type { Written } from '../engine/preview.ts';
import { RunWriter } from '../engine/run-writer.ts';
import type { FollowAccess } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import { placeHere } from '../files/disk/place.ts';
import type { Head, SessionKey } from '../ports/store.ts';
import { endChildren } from '../runs/cancel.ts';
import { agentName } from '../session/agent.ts';
import { asJson } from '../session/events/as-json.ts';
import type { SessionFold } from '../session/fold.ts';
import { beginDrafts } from '../session/runs/begin-run.ts';
import { endDrafts } from '../session/runs/end-run.ts';
import { type WorkFor, workFor } from '../session/runs/work-for.ts';
import { RunFiles } from '../session-files/run-files.ts';
import { Conversation } from './conversation.ts';
import { driveRun } from './drive-run.ts';
import { notifyCaller } from './notify-caller.ts';
import { preparing } from './prepare-worktree.ts';
import { agentActor, type RunContext } from './run-context.ts';
import type { WorkAccess } from './work-access.ts';

/** Own writes wake us too, and are many. */
const fenceMs = 50;

/** A session in a worker's hands. */
export interface Hold {
  readonly scope: WorkAccess;
  readonly key: SessionKey;
  /** Aborted when it was taken away, or the worker stops. */
  readonly signal: AbortSignal;
  /** The worker ends: no further step is begun. */
  isEnding(): boolean;
  /** As the queue has it now. */
  isStillHeld(): Promise<boolean>;
  /** Told while a call waits for another session, which then is this worker's to work on too. `leave` is called when the worker is to end. */
  waitFor(session: SessionId, leave?: () => void): Disposable;
}

/** As the session is given back. */
export type Left =
  /** All is done up to there, and nothing is to be done for a while. */
  | { readonly doneTo: number; readonly inMs: number | undefined; readonly hasFiles: boolean }
  | { readonly doneTo?: undefined; readonly lacksAgent?: boolean };

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

/** A run that this worker has claimed. */
interface Claimed extends Asked, Pick<RunContext, 'writer' | 'run' | 'agent'> {}

const isStoreFailure = (error: unknown): boolean => isPerdureError(error) && /^(STORE_|RUNTIME_)/.test(error.code);

/** What no step can deal with ends the run, and is said there. */
const fail = async (scope: WorkAccess, { writer, run, agent }: Claimed, cause: unknown): Promise<void> => {
  const code = isPerdureError(cause) ? cause.code : 'DEFECT';
  const message = String(asJson(cause instanceof Error ? cause.message : String(cause)));
  if (code === 'DEFECT') scope.onWarning(cause);
  const by = { run, actor: agentActor({ agent }), now: scope.clock.now() };
  await writer.decide((fold) => endDrafts(fold, { status: 'failed', error: { code, message } }, by));
};

/** Whoever raised the epoch has ended what is being done: its tools are told at once. */
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
    if (head && head.epoch !== writer.epoch) fenced.abort(new PerdureError('FENCED', 'the run was taken away'));
  };
  return store.watch(writer.key, (seq = Number.POSITIVE_INFINITY) => {
    newest = Math.max(newest, seq);
    void check();
  });
};

/** Whether it went on as far as it goes, was stopped by another writer, or could not since this worker does not hold the agent. */
type Went = 'on' | 'fenced' | 'lacks-agent';

/** Sets a claimed run up and goes on with it as far as it goes. */
const drive = async (hold: Hold, claimed: Claimed, signal: AbortSignal): Promise<void> => {
  const { scope, key, isEnding, waitFor } = hold;
  const { writer, run, agent } = claimed;
  const { tools } = agent;
  const prepare = preparing({ scope, writer, run, signal }, agent);
  const fold = await writer.fold();
  const place = await placeHere(scope.data, key, fold.boundTo);
  using files = new RunFiles({ scope, writer, place, run, tools, prepare }, fold);
  const conversation = new Conversation(scope, writer);
  const preview = (written: Written) => scope.previews.tell(key, written);
  const context = { ...claimed, scope, conversation, tools, files, signal, isEnding, preview, waitFor };
  await driveRun(context, await scope.models(agent.model));
};

/** Goes on with a claimed run until it ends or rests, or is taken away. */
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

/** Claims the session's run and goes on with it. */
const goOn = async (hold: Hold, seen: SessionFold, head: Head | undefined): Promise<Went> => {
  const { scope, key } = hold;
  const agent = seen.bound && scope.agents.get(agentName(seen.bound.agent));
  if (!agent) return 'lacks-agent';
  hold.signal.throwIfAborted();
  const writer = new RunWriter(scope, key);
  let asked: Asked | undefined;
  const claimed = await writer.claim((fold) => {
    const work = workFor(fold, scope.clock.now());
    asked = askedBy(work);
    return claimDrafts(fold, work);
  }, head);
  if (!claimed || !asked) return 'on';
  await notifyCaller(scope, seen);
  const run = claimed.find((event) => event.run)!.run!;
  return driveWatched(hold, { ...asked, writer, run, agent });
};

/** Does what there is to do in a session, until nothing is left or the worker ends. */
export const workOnSession = async (hold: Hold): Promise<Left> => {
  const { scope, key } = hold;
  const { folds, clock, store } = scope;
  for (let isKnown = false; ; isKnown = true) {
    // What others add while it is worked on enters the session again: no need to look once more.
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
    if (next.do === 'end-children') {
      await endChildren(scope, key, (decide) => new RunWriter(scope, key).claim(decide));
      continue;
    }
    const went = await goOn(hold, fold, head);
    if (went === 'lacks-agent') return sayStranded(hold);
    // A person may have ended the run, or another worker have it: from that one nothing is taken back.
    if (went === 'fenced' && !(await hold.isStillHeld())) return {};
  }
};

/** Of a session whose agent nobody holds who came by: its run says that it waits for one who does. */
export const sayStranded = async ({ scope, key }: Pick<Hold, 'scope' | 'key'>): Promise<Left> => {
  await new RunWriter(scope, key).claim((fold) => agentDrafts(fold, workFor(fold, scope.clock.now())));
  return { lacksAgent: true };
};
