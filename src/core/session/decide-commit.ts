import { PerdureError } from '../../schema/error.ts';
import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import { lowestProvenance, type PatchOperation, type Provenance } from '../../schema/state.ts';
import { type Agent, agentName } from './agent.ts';
import type { SessionFold } from './fold.ts';
import type { Redactor } from './redaction/redact.ts';
import { ledgerProblems } from './runs/ledger-problems.ts';
import { loweredEntries } from './state/entry-provenance.ts';
import {
  changeState,
  type Mutation,
  type StateChange,
  type StateProblem,
  stateInvalid,
  touchesOwn,
} from './state/state-change.ts';

type Committed = PayloadOf<'state.committed'>;

/** What a caller wants committed, with all that has to be read for it already read. */
export interface CommitCommand {
  readonly type: 'commit';
  readonly change: Mutation | readonly PatchOperation[];
  readonly why?: string | undefined;
  /** What the writer claims. The model can only lower what its sources give. */
  readonly provenance?: Provenance | undefined;
  readonly by: 'member' | 'model' | 'tool';
  /** A tool that is declared trusted. */
  readonly trusted?: boolean;
  readonly derivedFrom?: readonly { readonly seq: number; readonly provenance: Provenance }[] | undefined;
  readonly cause?: Committed['cause'];
  readonly inputHash?: string | undefined;
  readonly outputSummary?: string | undefined;
  readonly origin?: Committed['origin'];
  /** What entries keep or get back, in place of one provenance for all. */
  readonly entryProvenance?: Readonly<Record<string, Provenance>> | undefined;
  readonly agents: ReadonlyMap<string, Agent>;
}

const unavailable = (bound: { readonly name: string; readonly version: number }): PerdureError =>
  new PerdureError(
    'AGENT_VERSION_UNAVAILABLE',
    `this session is bound to ${agentName(bound)}, which this runtime does not hold: pass it to openRuntime({ agents })`,
    { details: { agent: bound.name, version: bound.version } },
  );

const otherSchema = (bound: { readonly name: string; readonly version: number }): PerdureError =>
  new PerdureError(
    'AGENT_VERSION_UNAVAILABLE',
    `this session is bound to ${agentName(bound)} with another state schema than the one that this runtime holds: give what has changed a new version with \`migrate\`, hold both and bind the session to it`,
    { details: { agent: bound.name, version: bound.version } },
  );

/** The agent whose schema the session's own part follows; undefined when it is bound to none. */
export const boundAgent = (state: SessionFold, agents: ReadonlyMap<string, Agent>): Agent | undefined => {
  if (!state.bound) return undefined;
  const agent = agents.get(agentName(state.bound.agent));
  if (!agent) throw unavailable(state.bound.agent);
  if (agent.schemaHash !== state.bound.schemaHash) throw otherSchema(state.bound.agent);
  return agent;
};

const ownProblems = (
  fold: SessionFold,
  change: StateChange,
  agents: CommitCommand['agents'],
): readonly StateProblem[] => {
  if (!touchesOwn(change.delta)) return [];
  const agent = boundAgent(fold, agents);
  if (!agent?.hasState) {
    return [
      { path: '/own', message: 'this session has no agent that defines a state of its own: use scratch or facts' },
    ];
  }
  return agent.problems(change.state.own);
};

/** Members and trusted tools say what they know; others what their sources let them. */
const provenanceFor = (fold: SessionFold, command: CommitCommand): Provenance => {
  const { by, trusted, provenance: claimed, derivedFrom, entryProvenance } = command;
  const kept = Object.values(entryProvenance ?? {});
  if (kept.length > 0) return lowestProvenance(kept);
  const sources = derivedFrom?.map((source) => source.provenance);
  if (by === 'member') return claimed ?? (sources?.length ? lowestProvenance([...sources, 'human']) : 'human');
  if (by === 'tool' && trusted) return claimed ?? 'verified';
  const ceiling =
    by === 'tool' ? 'unverified' : lowestProvenance(sources?.length ? sources : [fold.turnProvenance ?? 'unverified']);
  return lowestProvenance([ceiling, claimed ?? ceiling]);
};

const writerOf = (fold: SessionFold, { by, cause }: CommitCommand, member: Actor): Actor => {
  if (by === 'tool' && cause) return `tool:${cause.tool}` as Actor;
  return by === 'model' ? (`agent:${fold.agent?.name ?? 'model'}` as Actor) : member;
};

/** The change as an event, or nothing when it changes nothing. */
export const decideCommit = (
  fold: SessionFold,
  command: CommitCommand,
  actor: Actor,
  redactor: Redactor,
): EventDraft<'state.committed'> | undefined => {
  const change = changeState(fold.state, command.change, redactor);
  if (change.delta.length === 0 && command.origin?.kind !== 'lift') return undefined;
  const problems = [...ledgerProblems(change.state, change.delta), ...ownProblems(fold, change, command.agents)];
  if (problems.length > 0) throw stateInvalid(problems);
  const { why, cause, inputHash, outputSummary, origin, derivedFrom } = command;
  const provenance = provenanceFor(fold, command);
  const entryProvenance = { ...loweredEntries(fold, command.change, change, provenance), ...command.entryProvenance };
  return {
    type: 'state.committed',
    actor: writerOf(fold, command, actor),
    turn: fold.turn,
    payload: {
      delta: change.delta,
      inverse: change.inverse,
      provenance,
      ...(Object.keys(entryProvenance).length > 0 && { entryProvenance }),
      cause,
      inputHash,
      outputSummary,
      derivedFrom: derivedFrom?.map(({ seq }) => seq),
      why,
      origin,
    },
  };
};
