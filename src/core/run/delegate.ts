import { PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { Delegated } from '../ports/tool.ts';
import { openSession } from '../service/open-session.ts';
import { hasEnded, type Run, type RunResult, runStandings } from '../service/runs.ts';
import { keyOf, type Scope } from '../service/scope.ts';
import { admitInput } from '../service/send.ts';
import { type Agent, agentName } from '../session/agent.ts';
import { budgetOfChild } from '../session/budget.ts';
import { agentActor, type RunContext } from './run-context.ts';
import { waitsForChild } from './run-tool.ts';

const heldAgent = ({ scope }: RunContext, ref: { readonly name: string; readonly version: number }): Agent => {
  const agent = scope.agents.get(agentName(ref));
  if (agent) return agent;
  throw new PerdureError(
    'AGENT_VERSION_UNAVAILABLE',
    `${agentName(ref)} is not held by this runtime: pass it to openRuntime({ agents })`,
    { details: { agent: ref.name, version: ref.version } },
  );
};

/** A child works for whom its parent works for. */
const scopeOfRequester = ({ scope, requestedBy, from }: RunContext): Scope => ({
  ...scope,
  actor: requestedBy,
  ...(from && { requester: from }),
});

const common = (run: RunContext) => ({ actor: agentActor(run), turn: 'current' as const, run: run.run });

/** The child that an earlier attempt of the call opened, or a new one that the log names before anything is asked of it. */
const childOf = async (run: RunContext, callId: string, agent: Agent): Promise<SessionId> => {
  const fold = await run.writer.fold();
  const known = fold.children[callId];
  if (known) return known.session;
  const session = await openSession(
    scopeOfRequester(run),
    { agent, budget: budgetOfChild(fold, agent) },
    { session: fold.session, callId },
  );
  await run.writer.record({ type: 'child.opened', payload: { callId, session }, ...common(run) });
  return session;
};

type News = EventDraft<'child.waiting' | 'child.resumed' | 'child.ended'>;

/** Of a call that is over nothing is told any more: whoever ended it deals with the child. */
const tell = (run: RunContext, callId: string, news: Pick<News, 'type' | 'payload'>) =>
  run.writer.decide(({ runningCalls, children }) =>
    runningCalls[callId] && !children[callId]?.isEnded ? [{ ...news, ...common(run) } as News] : undefined,
  );

/** How the child stands now, and again whenever that changes. */
const standingsOf = (run: RunContext, { id, session }: Run) =>
  runStandings(run.scope, keyOf(run.scope, session), { id, admittedAt: 1, signal: run.signal });

const untilRest = async (run: RunContext, asked: Run): Promise<RunResult> => {
  for await (const standing of standingsOf(run, asked)) if (standing) return standing;
  throw run.signal.reason;
};

/** Looked at anew after the log has said that it waits: whoever goes on with it from now on tells the parent (`tellCaller`). */
const untilItGoesOn = async (run: RunContext, asked: Run, leave: (() => void) | undefined): Promise<void> => {
  for await (const standing of standingsOf(run, asked)) {
    if (!standing || hasEnded(standing)) return;
    leave?.();
    if (leave) throw waitsForChild;
  }
  throw run.signal.reason;
};

/** Until it has ended. Where the call can be left, nobody waits for a child that rests. */
const endOf = async (
  run: RunContext,
  callId: string,
  asked: Run,
  leave: (() => void) | undefined,
): Promise<RunResult> => {
  const { session } = asked;
  for (;;) {
    const standing = await untilRest(run, asked);
    if (hasEnded(standing)) return standing;
    const { waitingFor = 'human', reason } = standing;
    await tell(run, callId, { type: 'child.waiting', payload: { callId, session, for: waitingFor, reason } });
    await untilItGoesOn(run, asked, leave);
    await tell(run, callId, { type: 'child.resumed', payload: { callId, session } });
  }
};

/** Has a task done in a session of its own. A second attempt finds the first one's session and goes on waiting for it. */
export const delegate = async (
  run: RunContext,
  callId: string,
  ref: { readonly name: string; readonly version: number },
  task: string,
  leave: (() => void) | undefined,
): Promise<Delegated> => {
  const session = await childOf(run, callId, heldAgent(run, ref));
  const asked = await admitInput(scopeOfRequester(run), keyOf(run.scope, session), task, {
    idempotencyKey: `call:${callId}`,
  });
  using _waiting = run.waitFor(session);
  const { status, output, error, usage } = await endOf(run, callId, asked, leave);
  await tell(run, callId, { type: 'child.ended', payload: { callId, session, usage } });
  return { session, status: status as Delegated['status'], output, error };
};
