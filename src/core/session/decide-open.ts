import type { Description } from '../../schema/description.ts';
import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { pointerOf } from '../../schema/pointer.ts';
import type { Caller, Limits } from '../../schema/run.ts';
import type { Ownership } from '../../schema/sharing.ts';
import { emptyState, lowestProvenance, type PatchOperation, type Provenance, type State } from '../../schema/state.ts';
import type { Agent } from './agent.ts';
import { bindingOf } from './agent-digests.ts';
import type { SessionFold } from './fold.ts';
import { planProgress, touchesPlan } from './plan-progress.ts';
import type { Redactor } from './redaction/redact.ts';
import { allContributors } from './runs/contributors.ts';
import { countChanges } from './state/file-entries.ts';
import { changeState, stateInvalid, valueAt } from './state/state-change.ts';
import { inheritTaint } from './taint-fold.ts';

/** The parts of the state that a new session can carry over: knowledge and plans, but no history. */
const carried = [
  'facts',
  'pins',
  'decisions',
  'plan',
  'progress',
  'pendingActions',
] as const satisfies readonly (keyof State)[];

const carriedPaths = ({ state }: SessionFold): readonly string[] =>
  carried.flatMap((part) =>
    Object.keys(state[part])
      .filter((id) => part !== 'pendingActions' || state.pendingActions[id]?.status === 'open')
      .map((id) => pointerOf(part, id)),
  );

export interface Opening extends Description, Ownership {
  readonly agent?: Agent | undefined;
  readonly budget?: Limits | undefined;
  /** The call that the new session works for. */
  readonly calledBy?: Caller | undefined;
  /** The session whose files are the initial files of the new session. */
  readonly filesOf?: SessionFold | undefined;
  /** The session whose durable state and artifacts are carried over into the new session. */
  readonly carry?: SessionFold | undefined;
}

type Committed = PayloadOf<'state.committed'>;

const commitDraft = (
  before: State,
  operations: readonly PatchOperation[],
  { actor, redactor }: { readonly actor: Actor; readonly redactor: Redactor },
  about: Pick<Committed, 'provenance' | 'entryProvenance' | 'why' | 'origin' | 'contributors'>,
): { draft: EventDraft; state: State } => {
  const { state, delta, inverse } = changeState(before, operations, redactor);
  const plan = touchesPlan(delta) && { plan: planProgress(state) };
  const payload = { delta: [...delta], inverse: [...inverse], ...about, ...plan };
  return { draft: { type: 'state.committed', actor, turn: 0, payload }, state };
};

const provenanceOfCarried = (from: SessionFold): Readonly<Record<string, Provenance>> =>
  Object.fromEntries(carriedPaths(from).map((path) => [path, from.provenance[path] ?? 'unverified']));

/**
 * The first events of a session: its description, agent, budget and initial state. Carried entries keep their
 * provenance.
 */
export const decideOpen = (
  opening: Opening,
  actor: Actor,
  redactor: Redactor,
): readonly [EventDraft, ...EventDraft[]] => {
  const { title, metadata, priority, agent, carry, calledBy, filesOf, budget = agent?.budget } = opening;
  const { owner, visibility, sharedWith } = opening;
  const ref = agent && { name: agent.name, version: agent.version };
  const drafts: EventDraft[] = [];
  let state = emptyState;
  const commit = (operations: readonly PatchOperation[], about: Parameters<typeof commitDraft>[3]) => {
    const made = commitDraft(state, operations, { actor, redactor }, about);
    state = made.state;
    drafts.push(made.draft);
  };
  // Before the agent, so that no point of the log, to which a fork can go, has the agent without its budget.
  if (budget) drafts.push({ type: 'budget.set', payload: { limits: budget }, actor, turn: 0 });
  if (agent && ref) {
    drafts.push({ type: 'agent.bound', payload: bindingOf(agent), actor, turn: 0 });
    const initial = Object.entries(agent.initial);
    if (initial.length > 0) {
      const operations = initial.map(([id, value]) => ({ op: 'add', path: pointerOf('own', id), value }) as const);
      commit(operations, { provenance: 'verified', why: `the initial state of ${agent.name}` });
      const problems = agent.problems(state.own);
      if (problems.length > 0) throw stateInvalid(problems);
    }
  }
  if (carry) {
    const entryProvenance = provenanceOfCarried(carry);
    const paths = Object.keys(entryProvenance);
    if (paths.length > 0) {
      commit(
        paths.map((path) => ({ op: 'add', path, value: valueAt(carry.state, path) as Json }) as const),
        {
          provenance: lowestProvenance(Object.values(entryProvenance)),
          entryProvenance,
          origin: { kind: 'carry', session: carry.session, seq: carry.seq },
          why: `carried over from ${carry.session}`,
          contributors: [...allContributors(carry.contributors)],
        },
      );
    }
  }
  if (filesOf?.files) {
    const { session, seq, files } = filesOf;
    const origin = { kind: 'session', session, seq } as const;
    const contributors = filesOf === carry && { contributors: [...allContributors(filesOf.contributors)] };
    const payload = { tree: files.tree, leftOut: {}, changed: countChanges([]), origin, ...contributors };
    drafts.push({ type: 'files.snapshotted', payload, actor, turn: 0 });
  }
  for (const { name, mediaType, size, blob } of Object.values(carry?.artifacts ?? {})) {
    const contributors = [...allContributors(carry!.contributors)];
    drafts.push({ type: 'artifact.kept', payload: { name, mediaType, size, blob, contributors }, actor, turn: 0 });
  }
  const inherited = { actor, turn: 0 };
  if (filesOf) drafts.push(...inheritTaint(filesOf, { via: 'caller', ...inherited }));
  if (carry) drafts.push(...inheritTaint(carry, { via: 'carry', ...inherited }));
  return [
    {
      type: 'session.opened',
      payload: { title, metadata, priority, owner, visibility, sharedWith, agent: ref, calledBy },
      actor,
      turn: 0,
    },
    ...drafts,
  ];
};
