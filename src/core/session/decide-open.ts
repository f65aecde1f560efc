import type { Description } from '../../schema/description.ts';
import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { pointerOf } from '../../schema/pointer.ts';
import type { Caller, Limits } from '../../schema/run.ts';
import { emptyState, lowestProvenance, type PatchOperation, type Provenance, type State } from '../../schema/state.ts';
import type { Agent } from './agent.ts';
import { bindingOf } from './agent-digests.ts';
import type { SessionFold } from './fold.ts';
import { planProgress, touchesPlan } from './plan-progress.ts';
import type { Redactor } from './redaction/redact.ts';
import { countChanges } from './state/file-entries.ts';
import { changeState, stateInvalid, valueAt } from './state/state-change.ts';

/** The parts of the state that a new session can carry over: knowledge and plans, but no history. */
const carried = ['facts', 'pins', 'decisions', 'plan', 'progress'] as const satisfies readonly (keyof State)[];

export interface Opening extends Description {
  readonly agent?: Agent | undefined;
  readonly budget?: Limits | undefined;
  /** The call that the new session works for. */
  readonly calledBy?: Caller | undefined;
  /** The session whose files are the initial files of the new session. */
  readonly filesOf?: SessionFold | undefined;
  /** The session whose durable state is carried over into the new session. */
  readonly carry?: SessionFold | undefined;
}

type Committed = PayloadOf<'state.committed'>;

const commitDraft = (
  before: State,
  operations: readonly PatchOperation[],
  { actor, redactor }: { readonly actor: Actor; readonly redactor: Redactor },
  about: Pick<Committed, 'provenance' | 'entryProvenance' | 'why' | 'origin'>,
): { draft: EventDraft; state: State } => {
  const { state, delta, inverse } = changeState(before, operations, redactor);
  const plan = touchesPlan(delta) && { plan: planProgress(state) };
  const payload = { delta: [...delta], inverse: [...inverse], ...about, ...plan };
  return { draft: { type: 'state.committed', actor, turn: 0, payload }, state };
};

const provenanceOfCarried = (from: SessionFold): Readonly<Record<string, Provenance>> =>
  Object.fromEntries(
    carried
      .flatMap((part) => Object.keys(from.state[part]).map((id) => pointerOf(part, id)))
      .map((path) => [path, from.provenance[path] ?? 'unverified']),
  );

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
  const ref = agent && { name: agent.name, version: agent.version };
  const drafts: EventDraft[] = [];
  let state = emptyState;
  const commit = (operations: readonly PatchOperation[], about: Parameters<typeof commitDraft>[3]) => {
    const made = commitDraft(state, operations, { actor, redactor }, about);
    state = made.state;
    drafts.push(made.draft);
  };
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
  if (budget) drafts.push({ type: 'budget.set', payload: { limits: budget }, actor, turn: 0 });
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
        },
      );
    }
  }
  if (filesOf?.files) {
    const { session, seq, files } = filesOf;
    const origin = { kind: 'session', session, seq } as const;
    const payload = { tree: files.tree, leftOut: {}, changed: countChanges([]), origin };
    drafts.push({ type: 'files.snapshotted', payload, actor, turn: 0 });
  }
  for (const { name, mediaType, size, blob } of Object.values(carry?.artifacts ?? {})) {
    drafts.push({ type: 'artifact.kept', payload: { name, mediaType, size, blob }, actor, turn: 0 });
  }
  return [
    { type: 'session.opened', payload: { title, metadata, priority, agent: ref, calledBy }, actor, turn: 0 },
    ...drafts,
  ];
};
