import { PerdureError } from '../../schema/error.ts';
import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import type { SaidRef } from '../../schema/said.ts';
import { hasProvenance, lowestProvenance, type PatchOperation, type Provenance } from '../../schema/state.ts';
import { type Agent, agentName } from './agent.ts';
import type { SessionFold } from './fold.ts';
import { planProgress, touchesPlan } from './plan-progress.ts';
import type { Redactor } from './redaction/redact.ts';
import { ledgerProblems } from './runs/ledger-problems.ts';
import { saidFor } from './said-for.ts';
import { loweredEntries } from './state/entry-provenance.ts';
import {
  changeState,
  type Mutation,
  type StateChange,
  type StateProblem,
  stateInvalid,
  touchesOwn,
} from './state/state-change.ts';
import { touchedPaths } from './state/touched-paths.ts';

type Committed = PayloadOf<'state.committed'>;

/**
 * A commit that a caller requests. It holds everything that the decision needs, so that no data is read while
 * deciding.
 */
export interface CommitCommand {
  readonly type: 'commit';
  readonly change: Mutation | readonly PatchOperation[];
  readonly why?: string | undefined;
  /** The provenance that the writer claims. A model can claim at most the provenance of its sources. */
  readonly provenance?: Provenance | undefined;
  readonly by: 'member' | 'model' | 'tool';
  /** Whether the tool is declared trusted. */
  readonly trusted?: boolean;
  readonly derivedFrom?: readonly { readonly seq: number; readonly provenance: Provenance }[] | undefined;
  readonly cause?: Committed['cause'];
  /** The message that asked for the calls, if it is not the one that the fold has for `cause`. */
  readonly said?: SaidRef | undefined;
  readonly inputHash?: string | undefined;
  readonly outputSummary?: string | undefined;
  readonly origin?: Committed['origin'];
  /** The provenance of single entries, instead of one for the whole commit. */
  readonly entryProvenance?: Readonly<Record<string, Provenance>> | undefined;
  /** The other members whose contributions the change brings from elsewhere. */
  readonly contributors?: readonly Actor[] | undefined;
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
    `this session is bound to ${agentName(bound)}, but this runtime has that version with another state schema: give the changed agent a new version with \`migrate\`, pass both to openRuntime({ agents }) and bind the session to the new one`,
    { details: { agent: bound.name, version: bound.version } },
  );

/** The agent whose schema the session's own part follows. Undefined if the session is not bound. */
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

/**
 * Returns the provenance of a commit. Members and trusted tools choose the provenance. Models and other tools are
 * limited by their sources.
 */
const provenanceFor = (fold: SessionFold, command: CommitCommand, kept: readonly Provenance[]): Provenance => {
  const { by, trusted, provenance: claimed, derivedFrom } = command;
  if (kept.length > 0) return lowestProvenance(kept);
  const sources = derivedFrom?.map((source) => source.provenance);
  if (by === 'member') return claimed ?? (sources?.length ? lowestProvenance([...sources, 'human']) : 'human');
  if (by === 'tool' && trusted) return claimed ?? 'verified';
  const ceiling =
    by === 'tool' ? 'unverified' : lowestProvenance(sources?.length ? sources : [fold.turnProvenance ?? 'unverified']);
  return lowestProvenance([ceiling, claimed ?? ceiling]);
};

/** The provenance of a commit and of its entries that differ. Nothing if the commit changes only bookkeeping. */
const provenancesFor = (
  fold: SessionFold,
  command: CommitCommand,
  change: StateChange,
): Pick<Committed, 'provenance' | 'entryProvenance'> => {
  const { origin } = command;
  if (!touchedPaths({ delta: [...change.delta], origin }).some(({ path }) => hasProvenance(path))) return {};
  const given = Object.entries(command.entryProvenance ?? {}).filter(([path]) => hasProvenance(path));
  const kept = Object.fromEntries(given);
  const provenance = provenanceFor(fold, command, Object.values(kept));
  const entryProvenance = { ...loweredEntries(fold, command.change, change, provenance), ...kept };
  return { provenance, ...(Object.keys(entryProvenance).length > 0 && { entryProvenance }) };
};

const writerOf = (fold: SessionFold, { by, cause }: CommitCommand, member: Actor): Actor => {
  if (by === 'tool' && cause) return `tool:${cause.tool}` as Actor;
  return by === 'model' ? (`agent:${fold.agent?.name ?? 'model'}` as Actor) : member;
};

/** Returns the commit as an event draft. Returns undefined if nothing changes. */
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
  const { why, cause, inputHash, outputSummary, origin, derivedFrom, contributors } = command;
  const said = command.said ?? (cause && saidFor(fold, cause));
  return {
    type: 'state.committed',
    actor: writerOf(fold, command, actor),
    turn: fold.turn,
    payload: {
      delta: change.delta,
      inverse: change.inverse,
      ...provenancesFor(fold, command, change),
      cause,
      ...(said && { said }),
      inputHash,
      outputSummary,
      derivedFrom: derivedFrom?.map(({ seq }) => seq),
      why,
      origin,
      ...(contributors?.length && { contributors: [...contributors] }),
      ...(touchesPlan(change.delta) && { plan: planProgress(change.state) }),
    },
  };
};
