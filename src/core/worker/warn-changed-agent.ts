import { PerdureError } from '../../schema/error.ts';
import type { PayloadOf } from '../../schema/event.ts';
import type { AgentAccess, WarningAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { type Agent, agentName } from '../session/agent.ts';
import { changedParts } from '../session/agent-digests.ts';

/** The agents that were reported, for each runtime, which is known by its agents. */
const warned = new WeakMap<AgentAccess['agents'], Set<string>>();

/** Warns once for each agent of a runtime whose content changed under the same version. */
export const warnChangedAgent = (
  { onWarning, agents }: WarningAccess & AgentAccess,
  key: SessionKey,
  bound: PayloadOf<'agent.bound'>,
  agent: Agent,
): void => {
  const name = agentName(agent);
  const reported = warned.get(agents) ?? new Set();
  if (reported.has(name)) return;
  const changed = changedParts(bound, agent);
  if (changed.length === 0) return;
  warned.set(agents, reported.add(name));
  const what = `${name} changed since it was bound to ${key.session}: ${changed.join(', ')}`;
  const remedy = `raise its version to ${agent.version + 1}`;
  onWarning(new PerdureError('AGENT_CHANGED', `${what}; ${remedy}`, { details: { ...key, agent: name, changed } }));
};
