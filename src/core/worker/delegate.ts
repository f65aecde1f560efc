import { PerdureError } from '../../schema/error.ts';
import type { EventDraft, SessionEvent } from '../../schema/event.ts';
import { taskKey } from '../../schema/idempotency-key.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { type EndedRun, hasEnded, isAtRest, type RunResult } from '../../schema/run-result.ts';
import { execute } from '../engine/execute.ts';
import { inheritedSharing, ownershipOf } from '../engine/ownership.ts';
import { keyOf } from '../engine/scope.ts';
import { emptyTree, treeOf } from '../files/tree.ts';
import type { BlobHash } from '../ports/blobs.ts';
import type { SessionKey } from '../ports/store.ts';
import type { Delegated } from '../ports/tool.ts';
import type { AdmittedRun } from '../runs/admitted-run.ts';
import { runStandings } from '../runs/runs.ts';
import { admitInput } from '../runs/send.ts';
import { type Agent, agentName } from '../session/agent.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { budgetOfChild } from '../session/runs/budget.ts';
import { allContributors } from '../session/runs/contributors.ts';
import { inheritTaint } from '../session/taint-fold.ts';
import { openSession } from '../sessions/open-session.ts';
import { agentActor, type RunContext } from './run-context.ts';
import { waitsForChild } from './run-tool.ts';
import type { WorkAccess } from './work-access.ts';

const heldAgent = ({ scope }: RunContext, ref: { readonly name: string; readonly version: number }): Agent => {
  const agent = scope.agents.get(agentName(ref));
  if (agent) return agent;
  throw new PerdureError(
    'AGENT_VERSION_UNAVAILABLE',
    `${agentName(ref)} is not held by this runtime: pass it to openRuntime({ agents })`,
    { details: { agent: ref.name, version: ref.version } },
  );
};

/** Returns the access for a child session, which acts for the same requester as its parent. */
const scopeOfRequester = ({ scope, requestedBy, from }: RunContext): WorkAccess => ({
  ...scope,
  actor: requestedBy,
  ...(from && { requester: from }),
});

const common = (run: RunContext) => ({ actor: agentActor(run), turn: 'current' as const, run: run.run });

/**
 * Returns the child session that an earlier attempt of the call opened, or opens a new one. The parent's log names the
 * child before the child receives its task.
 */
const childOf = async (run: RunContext, callId: string, agent: Agent): Promise<SessionId> => {
  const fold = await run.writer.fold();
  const known = fold.children[callId];
  if (known) return known.session;
  const ownership = ownershipOf(await run.scope.store.head(keyOf(run.scope, fold.session)));
  const session = await openSession(
    scopeOfRequester(run),
    { agent, budget: budgetOfChild(fold, agent), priority: fold.priority },
    { calledBy: { session: fold.session, callId }, filesOf: fold, ...ownership },
  );
  await run.writer.record({ type: 'child.opened', payload: { callId, session }, ...common(run) });
  return session;
};

/**
 * Gives a child that has no task yet the sharing of its parent. A change of the parent's sharing reaches only the
 * children that the log of the parent names, and this child was opened before its parent named it.
 */
const shareAsParent = async (run: RunContext, session: SessionId): Promise<void> => {
  const child = keyOf(run.scope, session);
  const { store, folds } = run.scope;
  const { run: atWork, queue, messages } = await folds.head(child);
  if (atWork || queue.length > 0 || messages > 0) return;
  const [parentHead, childHead] = await Promise.all([store.head(run.writer.key), store.head(child)]);
  const sharing = inheritedSharing(parentHead, childHead);
  if (sharing) await execute(scopeOfRequester(run), child, { type: 'share', ...sharing });
};

type News = EventDraft<'child.waiting' | 'child.resumed' | 'child.ended'>;

/**
 * Records news about the child in the parent's log. Records nothing once the call has ended, because the writer that
 * ended the call also ends the child.
 */
const tell = (
  run: RunContext,
  callId: string,
  news: Pick<News, 'type' | 'payload'>,
  also: readonly EventDraft[] = [],
) =>
  run.writer.decide(({ runningCalls, children }) =>
    runningCalls[callId] && !children[callId]?.isEnded ? [...also, { ...news, ...common(run) } as News] : undefined,
  );

interface AskedChild extends AdmittedRun {
  readonly session: SessionId;
}

/** Yields the status of the child, now and whenever it changes. */
const standingsOf = (run: RunContext, asked: AskedChild) =>
  runStandings(run.scope, keyOf(run.scope, asked.session), asked, run.signal);

const untilRest = async (run: RunContext, asked: AskedChild): Promise<RunResult<Json>> => {
  for await (const standing of standingsOf(run, asked)) if (isAtRest(standing)) return standing;
  throw run.signal.reason;
};

/**
 * Waits until the child continues. First the log records that the child waits, then the child's status is read again.
 * A worker that resumes the child later notifies the parent (`notifyCaller`).
 */
const untilItGoesOn = async (run: RunContext, asked: AskedChild, leave: (() => void) | undefined): Promise<void> => {
  for await (const standing of standingsOf(run, asked)) {
    if (!isAtRest(standing) || hasEnded(standing)) return;
    leave?.();
    if (leave) throw waitsForChild;
  }
  throw run.signal.reason;
};

/** Waits until the child has ended. If the call can be left, does not wait for a child that waits or is paused. */
const endOf = async (
  run: RunContext,
  callId: string,
  asked: AskedChild,
  leave: (() => void) | undefined,
): Promise<EndedRun<Json>> => {
  const { session } = asked;
  for (;;) {
    const standing = await untilRest(run, asked);
    if (hasEnded(standing)) return standing;
    const rest = standing.status === 'waiting' ? standing : { waitingFor: 'human' as const, reason: undefined };
    const waiting = { callId, session, for: rest.waitingFor, reason: rest.reason };
    await tell(run, callId, { type: 'child.waiting', payload: waiting });
    await untilItGoesOn(run, asked, leave);
    await tell(run, callId, { type: 'child.resumed', payload: { callId, session } });
  }
};

/** Waits for the end of the child. A draining worker leaves the call to the next worker. */
const waitForEnd = async (
  run: RunContext,
  callId: string,
  asked: AskedChild,
  leave: (() => void) | undefined,
): Promise<EndedRun<Json>> => {
  const left = Promise.withResolvers<never>();
  const leaveNow = (): void => {
    leave?.();
    left.reject(waitsForChild);
  };
  using _waiting = run.waitFor(asked.session, leave && leaveNow);
  return await Promise.race([endOf(run, callId, asked, leave), left.promise]);
};

/** An upper limit for the number of events with which a session opens. */
const openingEvents = 20;

const firstTree = async ({ scope }: RunContext, child: SessionKey): Promise<BlobHash> => {
  const first = (await scope.store.read(child, { limit: openingEvents })).find(
    ({ type }) => type === 'files.snapshotted',
  );
  if (!first) return emptyTree.hash;
  const { payload } = decodeEvent(child.workspace, first) as SessionEvent<'files.snapshotted'>;
  return payload.origin?.kind === 'session' ? payload.tree : emptyTree.hash;
};

/** Merges the child's changes to its initial files into the parent's files. */
const takeFilesOver = async (run: RunContext, callId: string, ended: SessionFold): Promise<void> => {
  const { children, runningCalls } = await run.writer.fold();
  const call = runningCalls[callId];
  if (!call || children[callId]?.isEnded) return;
  const first = await firstTree(run, keyOf(run.scope, ended.session));
  await run.files.takeOver(first, treeOf(ended), { tool: call.tool, callId });
};

/** Delegates a task to a separate session. A second attempt of the call finds the same session and waits for it. */
export const delegate = async (
  run: RunContext,
  callId: string,
  ref: { readonly name: string; readonly version: number },
  task: string,
  leave: (() => void) | undefined,
): Promise<Delegated> => {
  const session = await childOf(run, callId, heldAgent(run, ref));
  await shareAsParent(run, session);
  const admitted = await admitInput(scopeOfRequester(run), keyOf(run.scope, session), task, {
    idempotencyKey: taskKey(callId),
  });
  const { run: _, usage, ...end } = await waitForEnd(run, callId, { ...admitted, session }, leave);
  const ended = await run.scope.folds.head(keyOf(run.scope, session));
  await takeFilesOver(run, callId, ended);
  const contributors = [...allContributors(ended.contributors)];
  const taint = inheritTaint(ended, { via: 'subagent', callId, ...common(run) });
  await tell(run, callId, { type: 'child.ended', payload: { callId, session, usage, contributors } }, taint);
  return { session, ...end };
};
