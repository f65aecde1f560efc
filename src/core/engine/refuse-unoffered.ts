import { type Agent, unknownAgent } from '../session/agent.ts';
import type { AgentAccess, WriteAccess } from './scope.ts';

/** Rejects an agent that is not offered to the caller, as if there were no such agent. */
export const refuseUnoffered = (
  { caller, agents }: Pick<WriteAccess & AgentAccess, 'caller' | 'agents'>,
  agent: Agent,
): void => {
  if (caller.reach === 'own' && agent.offeredTo !== 'own') throw unknownAgent(agents.values(), agent);
};
