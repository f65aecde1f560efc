import type { Limits } from '../../schema/run.ts';
import { execute } from '../engine/execute.ts';
import { type AgentAccess, keyOf, type WriteAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { agentName } from '../session/agent.ts';
import { budgetOfChild } from '../session/runs/budget.ts';

/** Sets the limits of a session, and derives the limits of its subagents from them. */
export const limitSession = async (
  scope: WriteAccess & AgentAccess,
  key: SessionKey,
  limits: Limits,
  reason?: string | undefined,
): Promise<void> => {
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
