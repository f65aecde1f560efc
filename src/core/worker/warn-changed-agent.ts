import { PerdureError } from '../../schema/error.ts';
import type { PayloadOf } from '../../schema/event.ts';
import type { WarningAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { type Agent, agentName } from '../session/agent.ts';
import { changedParts } from '../session/agent-digests.ts';

const warned = new WeakSet<Agent>();

/** Warns once for each agent of the process whose definition changed without a new version. */
export const warnChangedAgent = (
  { onWarning }: WarningAccess,
  key: SessionKey,
  bound: PayloadOf<'agent.bound'>,
  agent: Agent,
): void => {
  if (warned.has(agent)) return;
  const changed = changedParts(bound, agent);
  if (changed.length === 0) return;
  warned.add(agent);
  const name = agentName(agent);
  const what = `${name} changed since it was bound to ${key.session}: ${changed.join(', ')}`;
  const remedy = `raise its version to ${agent.version + 1}`;
  onWarning(new PerdureError('AGENT_CHANGED', `${what}; ${remedy}`, { details: { ...key, agent: name, changed } }));
};
