import type { Limits } from '../../schema/run.ts';
import { actingOn } from '../engine/acting-on.ts';
import { execute } from '../engine/execute.ts';
import { type AgentAccess, keyOf, type SightAccess, type WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { agentName } from '../session/agent.ts';
import { budgetOfChild } from '../session/runs/budget.ts';

/** Sets the limits of a session, and derives the limits of its subagents, seen by the caller or not, from them. */
export const limitSession = async (
  given: WriteAccess & AgentAccess & Pick<SightAccess, 'whole'>,
  key: SessionKey,
  limits: Limits,
  reason?: string | undefined,
): Promise<void> => {
  const scope = await actingOn(given, key);
  await execute(scope, key, { type: 'limit', limits, reason });
  const fold = await scope.folds.head(key);
  for (const { session, isEnded } of Object.values(fold.children)) {
    if (isEnded) continue;
    const child = keyOf(scope, session);
    const { bound } = await scope.folds.head(child);
    const agent = bound && scope.agents.get(agentName(bound.agent));
    await limitSession(scope, child, budgetOfChild(fold, agent), reason);
  }
};
