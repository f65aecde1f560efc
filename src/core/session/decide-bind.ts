import { PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { pointerOf } from '../../schema/pointer.ts';
import { lowestProvenance, type Provenance, type State } from '../../schema/state.ts';
import { type Agent, agentName, isAgent } from './agent.ts';
import { bindingOf } from './agent-digests.ts';
import type { SessionFold } from './fold.ts';
import type { Redactor } from './redaction/redact.ts';
import { lowerLimits } from './runs/budget.ts';
import { ledgerProblems } from './runs/ledger-problems.ts';
import { changeState, type StateDraft, stateInvalid } from './state/state-change.ts';

const refuse = (why: string, details: Record<string, unknown>): PerdureError =>
  new PerdureError('AGENT_INVALID', why, { details });

const migrated = (fold: SessionFold, agent: Agent): State['own'] => {
  const from = fold.bound?.agent.version;
  if (from === undefined) return agent.initial;
  if (!agent.migrate) {
    throw refuse(
      `${agentName(agent)} has another state schema than version ${from}: define \`migrate(own, { version })\` for it`,
      {
        agent: agent.name,
        from,
        to: agent.version,
      },
    );
  }
  const own = agent.migrate(structuredClone(fold.state.own) as Record<string, Json>, { version: from });
  const problems = agent.problems(own);
  if (problems.length > 0) throw stateInvalid(problems);
  return own as State['own'];
};

const assertAgent = (agent: unknown): void => {
  if (isAgent(agent)) return;
  throw new PerdureError('INVALID_INPUT', 'the agent is not valid: expected an agent made by defineAgent');
};

/** The provenance of a migrated own part: the lowest one of its entries. */
const provenanceOfOwn = ({ state, provenance }: SessionFold): Provenance =>
  lowestProvenance(Object.keys(state.own).map((id) => provenance[pointerOf('own', id)] ?? 'unverified'));

/** The budget of the first agent also holds for a session that was opened without one. */
const budgetDrafts = ({ limits, turn }: SessionFold, { budget }: Agent, actor: Actor): readonly EventDraft[] =>
  budget ? [{ type: 'budget.set', payload: { limits: lowerLimits(limits, budget) }, actor, turn }] : [];

/**
 * Binds the session to an agent, or to another version of its agent. If the state schema changed, a commit migrates the
 * own part.
 */
export const decideBind = (
  fold: SessionFold,
  agent: Agent,
  actor: Actor,
  redactor: Redactor,
): readonly EventDraft[] => {
  assertAgent(agent);
  const { bound } = fold;
  const { name, version, schemaHash } = agent;
  if (bound && bound.agent.name !== name) {
    throw refuse(`this session belongs to the agent ${bound.agent.name}: fork it or open another for ${name}`, {
      bound: bound.agent.name,
      agent: name,
    });
  }
  const isSameSchema = bound?.schemaHash === schemaHash;
  if (isSameSchema && bound.agent.version === version) return [];
  const common = { actor, turn: fold.turn };
  const binding: EventDraft = { type: 'agent.bound', payload: bindingOf(agent), ...common };
  if (isSameSchema) return [binding];
  const bindings = bound ? [binding] : [...budgetDrafts(fold, agent, actor), binding];
  const own = migrated(fold, agent);
  const migration = (draft: StateDraft): void => {
    draft.own = own;
  };
  const { state, delta, inverse } = changeState(fold.state, migration, redactor);
  const problems = [...ledgerProblems(state, delta), ...agent.problems(state.own)];
  if (problems.length > 0) throw stateInvalid(problems);
  if (delta.length === 0) return bindings;
  const origin = bound && ({ kind: 'migrate', from: bound.agent.version, to: version } as const);
  const why = bound ? `migrated from version ${bound.agent.version} to ${version}` : `the initial state of ${name}`;
  const payload = { delta: [...delta], inverse: [...inverse], provenance: provenanceOfOwn(fold), why, origin };
  return [...bindings, { type: 'state.committed', payload, ...common }];
};
