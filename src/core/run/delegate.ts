import { PerdureError } from '../../schema/error.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { Delegated } from '../ports/tool.ts';
import { openSession } from '../service/open-session.ts';
import { keyOf, type Scope } from '../service/scope.ts';
import { admitInput } from '../service/send.ts';
import { type Agent, agentName } from '../session/agent.ts';
import { budgetOfChild } from '../session/budget.ts';
import { agentActor, type RunContext } from './run-context.ts';

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
  if (known) return known;
  const session = await openSession(scopeOfRequester(run), {
    agent,
    budget: budgetOfChild(fold, agent),
    metadata: { parent: fold.session, call: callId },
  });
  await run.writer.record({ type: 'child.opened', payload: { callId, session }, ...common(run) });
  return session;
};

/** Has a task done in a session of its own. A second attempt after a crash finds the first one's session and goes on waiting for it. */
export const delegate = async (
  run: RunContext,
  callId: string,
  ref: { readonly name: string; readonly version: number },
  task: string,
): Promise<Delegated> => {
  const session = await childOf(run, callId, heldAgent(run, ref));
  const key = keyOf(run.scope, session);
  const asked = await admitInput(scopeOfRequester(run), key, task, { idempotencyKey: `call:${callId}` });
  using _waiting = run.waitFor(session);
  const { status, output, error, usage } = await asked.ended({ signal: run.signal });
  await run.writer.record({ type: 'child.ended', payload: { callId, session, usage }, ...common(run) });
  return { session, status: status as Delegated['status'], output, error };
};
