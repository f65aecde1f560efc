import type { Damage } from '../../schema/damage.ts';
import type { Priority } from '../../schema/description.ts';
import type { PayloadOf, SessionEvent } from '../../schema/event.ts';
import type { MessageId, SessionId } from '../../schema/ids.ts';
import type { Metadata } from '../../schema/json.ts';
import type { Holder, Status } from '../../schema/lifecycle.ts';
import type { Message, Role, ToolCallPart } from '../../schema/message.ts';
import type { Caller } from '../../schema/run.ts';
import { type SaidRef, saidRefAt } from '../../schema/said.ts';
import { emptyState, hasProvenance, lowestProvenance, type Provenance, type State } from '../../schema/state.ts';
import { clippedJson } from './context/clipped-json.ts';
import { copyRecord, OwnCopies } from './events/copy-record.ts';
import { eventDamaged } from './events/event-codec.ts';
import { inputHash } from './events/input-hash.ts';
import { type FilesFold, foldFiles, noFiles } from './files-fold.ts';
import { firstWordsOf, wantsFirstWords } from './first-words.ts';
import { foldHappened, type HappenedFold } from './happened.ts';
import { statusAfter, statusOfFork } from './lifecycle.ts';
import { extendLive, type LiveRange } from './live-lineage.ts';
import { type Contributors, foldContributors } from './runs/contributors.ts';
import { foldHandoff, type HandoffFold } from './runs/handoff-fold.ts';
import { foldRuns, noRuns, type RunFold } from './runs/run-fold.ts';
import { isTurnInput, provenanceOf } from './state/provenance.ts';
import { recentFilesAfter } from './state/recent-files.ts';
import { tryDelta, valueAt } from './state/state-change.ts';
import { entriesTouched } from './state/touched-paths.ts';
import { foldTaint, noTaint, type TaintFold } from './taint-fold.ts';
import { foldTracking, noTracking, type TrackingFold } from './tracking-fold.ts';

/**
 * The version of the fold. Raise it whenever the same log folds to a different result. Snapshots of other versions are
 * ignored and rebuilt.
 */
export const foldVersion = 21;

/**
 * The state of a session at `seq`, folded from its log. Its size depends on the open work and the state, not on the
 * length of the log.
 */
export interface SessionFold extends RunFold, FilesFold, HandoffFold, TrackingFold {
  readonly session: SessionId;
  readonly seq: number;
  /** The hash of the event at `seq`. It detects that a store lost its newest events and reused their numbers. */
  readonly hash: string;
  readonly at: number;
  readonly createdAt: number;
  /** The highest turn number used so far. */
  readonly lastTurn: number;
  /** The turn of the newest event on the live lineage. */
  readonly turn: number;
  readonly status: Status;
  readonly holder: Holder;
  readonly title?: string | undefined;
  /** The beginning of the first message of a person, by which a listing names an untitled session. */
  readonly firstWords?: string | undefined;
  readonly agent?: { readonly name: string; readonly version: number } | undefined;
  readonly metadata?: Metadata | undefined;
  readonly priority?: Priority | undefined;
  readonly calledBy?: Caller | undefined;
  readonly parent?: { readonly session: SessionId; readonly seq: number } | undefined;
  /** The number of messages on the live lineage. */
  readonly messages: number;
  readonly lastRole?: Role | undefined;
  readonly live: readonly LiveRange[];
  /** Tool calls on the live lineage that have no result message yet. */
  readonly openCalls: OpenCalls;
  /** Calls that have begun (`tool.called`) and have no outcome yet. */
  readonly runningCalls: RunningCalls;
  /** The key for hashes of tool inputs: the hash of the first event of the lineage, which no other lineage shares. */
  readonly inputKey: string;
  readonly bound?: PayloadOf<'agent.bound'> | undefined;
  readonly state: State;
  /** The paths in `filesModified` that changed last, the newest at the end. */
  readonly recentFiles: readonly string[];
  /** The first commit that cannot be applied to the previous state. After that commit the state is unknown. */
  readonly damage?: { readonly session: SessionId; readonly seq: number; readonly reason: string } | undefined;
  /** Set once the session is quarantined: the first damaged event, which ends the live lineage. */
  readonly quarantine?: { readonly seq: number; readonly reason: string } | undefined;
  /** What is lost of the damaged sessions that this one continues, oldest first. */
  readonly lost?: readonly Damage[] | undefined;
  /** The provenance of each entry of the state, by path. */
  readonly provenance: Readonly<Record<string, Provenance>>;
  /** The newest adoptions from each branch, oldest first. */
  readonly adopted: Readonly<Record<string, readonly AdoptionMark[]>>;
  /** The members whose words, files or edits are in the session. */
  readonly contributors: Contributors;
  /** What brought data from outside into the session. */
  readonly taint: TaintFold;
  /** The lowest provenance among the inputs of the current turn. */
  readonly turnProvenance?: Provenance | undefined;
  /** The newest compaction on the live lineage. */
  readonly compaction?: PayloadOf<'context.compacted'> | undefined;
  /** Calls with effects beside the live lineage, of this session and of others in its family. */
  readonly happened?: HappenedFold | undefined;
  /** Retried turns: for the first attempt's turn, the turns of all attempts. */
  readonly attempts: Readonly<Record<string, readonly number[]>>;
}

/** One adoption from a branch. */
export interface AdoptionMark {
  /** The seq in the branch up to which its changes were adopted. */
  readonly theirs: number;
  /** The seq of this session just before the adoption and its file snapshot. */
  readonly before: number;
  /** The seq of the adopting commit, followed by the seqs of reverts. Each revert reverts the commit before it. */
  readonly commits: readonly [number, ...number[]];
}

interface OpenCall {
  readonly tool: string;
  /** The message that made the call, and its seq. */
  readonly message: MessageId;
  readonly seq: number;
  /** The hash of the input. Only present for a call of a loop outside Perdure. */
  readonly inputHash?: string;
}
type OpenCalls = Readonly<Record<string, OpenCall>>;

export interface RunningCall extends Pick<PayloadOf<'tool.called'>, 'tool' | 'effects' | 'reconciles' | 'untrusted'> {
  readonly seq: number;
  readonly at: number;
  readonly attempt: number;
  /** The message that asked for the call, if it preceded the call. */
  readonly said?: SaidRef | undefined;
  /** The beginning of its input as JSON. */
  readonly input: string;
}
/** The fold of every call in flight is kept, so little of each input is. */
const maxRunningInput = 200;
type RunningCalls = Readonly<Record<string, RunningCall>>;

const blank = (event: SessionEvent): SessionFold => ({
  session: event.session,
  seq: 0,
  hash: '',
  at: event.at,
  createdAt: event.at,
  lastTurn: 0,
  turn: 0,
  status: 'open',
  holder: 'agent',
  messages: 0,
  live: [],
  openCalls: {},
  runningCalls: {},
  ...noRuns,
  ...noFiles,
  ...noTracking,
  inputKey: event.hash,
  state: emptyState,
  recentFiles: [],
  provenance: {},
  adopted: {},
  contributors: {},
  taint: noTaint,
  attempts: {},
});

const without = <Call>(calls: Readonly<Record<string, Call>>, callId: string, copies: OwnCopies) => {
  if (!Object.hasOwn(calls, callId)) return calls;
  const others = copies.edit(calls);
  delete others[callId];
  return others;
};

const withCall = <Call>(calls: Readonly<Record<string, Call>>, callId: string, call: Call, copies: OwnCopies) => {
  const all = copies.edit(calls);
  all[callId] = call;
  return all;
};

/** The upper limit for the provenance of the model's conclusions in this turn. */
const turnProvenanceAfter = (base: SessionFold, event: SessionEvent): Provenance | undefined => {
  const before = event.turn === base.turn ? base.turnProvenance : undefined;
  const brought = isTurnInput(event) ? provenanceOf(event) : undefined;
  return brought && before ? lowestProvenance([brought, before]) : (brought ?? before);
};

/**
 * Returns the provenance of entries after a commit. An operation below an entry keeps the entry's lower provenance,
 * because the rest of the entry is unchanged.
 */
const provenanceAfter = (
  before: SessionFold['provenance'],
  state: State,
  { delta, provenance = 'unverified', entryProvenance, origin }: PayloadOf<'state.committed'>,
): SessionFold['provenance'] => {
  const isLift = origin?.kind === 'lift';
  const set = new Set(isLift ? origin.paths : delta.flatMap(({ op, path }) => (op === 'test' ? [] : [path])));
  const levelOf = (path: string): Provenance | undefined => {
    if (!hasProvenance(path) || valueAt(state, path) === undefined) return undefined;
    const had = set.has(path) ? undefined : before[path];
    return entryProvenance?.[path] ?? (had ? lowestProvenance([had, provenance]) : provenance);
  };
  const levels = (isLift ? origin.paths : entriesTouched(delta)).map((path) => [path, levelOf(path)] as const);
  const changed = levels.filter(([path, level]) => before[path] !== level);
  if (changed.length === 0) return before;
  const after = copyRecord(before);
  for (const [path, level] of changed) {
    if (level) after[path] = level;
    else delete after[path];
  }
  return after;
};

/**
 * The maximum number of earlier adoptions that are searched for the common base of an entry that both sides kept
 * changing.
 */
const maxAdoptions = 32;

const adoptedAfter = (
  { adopted: before, files }: SessionFold,
  seq: number,
  { origin }: PayloadOf<'state.committed'>,
): SessionFold['adopted'] => {
  if (origin?.kind === 'adopt') {
    const isWithFiles = files?.seq === seq - 1;
    const mark: AdoptionMark = { theirs: origin.seq, before: seq - (isWithFiles ? 2 : 1), commits: [seq] };
    return { ...before, [origin.session]: [...(before[origin.session] ?? []), mark].slice(-maxAdoptions) };
  }
  if (origin?.kind !== 'revert') return before;
  const withRevert = (mark: AdoptionMark): AdoptionMark =>
    mark.commits.includes(origin.seq) ? { ...mark, commits: [...mark.commits, seq] } : mark;
  return Object.fromEntries(Object.entries(before).map(([branch, marks]) => [branch, marks.map(withRevert)]));
};

const attemptsAfter = (attempts: SessionFold['attempts'], turn: number, retries: number | undefined) => {
  if (retries === undefined) return attempts;
  const first = Object.entries(attempts).find(([, turns]) => turns.includes(retries))?.[0] ?? `${retries}`;
  return { ...attempts, [first]: [...(attempts[first] ?? [retries]), turn] };
};

const firstWordsAfter = (before: SessionFold, message: Message): string | undefined =>
  before.firstWords ?? (wantsFirstWords(before) ? firstWordsOf(message) : undefined);

const callsAfter = (
  { openCalls: calls, inputKey }: SessionFold,
  { seq, run, payload: { message } }: SessionEvent<'message.appended'>,
  copies: OwnCopies,
): SessionFold['openCalls'] => {
  if (message.role === 'tool') {
    const [first, ...others] = message.content;
    if (first && others.length === 0) return without(calls, first.callId, copies);
    const settled = new Set(message.content.map((part) => part.callId));
    return Object.fromEntries(Object.entries(calls).filter(([callId]) => !settled.has(callId)));
  }
  if (message.role !== 'assistant') return calls;
  const made = message.content.filter((part) => part.type === 'tool-call');
  const [first, ...others] = made;
  const openCall = ({ tool, input }: ToolCallPart): OpenCall =>
    run
      ? { tool, message: message.id, seq }
      : { tool, message: message.id, seq, inputHash: inputHash(inputKey, input) };
  if (first && others.length === 0) return { ...calls, [first.callId]: openCall(first) };
  return { ...calls, ...Object.fromEntries(made.map((part) => [part.callId, openCall(part)])) };
};

const committed = (before: SessionFold, event: SessionEvent<'state.committed'>): SessionFold => {
  if (before.damage) return before;
  const { session, seq, payload } = event;
  const result = tryDelta(before.state, payload.delta);
  if ('failed' in result) {
    const { path, message } = result.failed;
    return {
      ...before,
      damage: { session, seq, reason: `it does not apply to the state before it: ${path}: ${message}` },
    };
  }
  const { state } = result;
  return {
    ...before,
    state,
    recentFiles: recentFilesAfter(before.recentFiles, state, payload.delta),
    provenance: provenanceAfter(before.provenance, state, payload),
    adopted: adoptedAfter(before, seq, payload),
  };
};

/** The maximum number of losses that a fold remembers. Each needs a repair of its own. */
const maxLosses = 5;

/**
 * Quarantines the session. Everything after the last good event, whose fold is `target`, is lost. No run continues,
 * because the newest events of its run are unknown.
 */
const quarantined = (event: SessionEvent<'session.quarantined'>, target: SessionFold | undefined): SessionFold => {
  const { seq, reason, status, lastTurn } = event.payload;
  const good = target ?? blank(event);
  return {
    ...good,
    // A fork inherits neither the caller nor the folder of the session whose event was the last good one.
    ...(good.session !== event.session && { calledBy: undefined, boundTo: undefined }),
    session: event.session,
    seq: event.seq,
    hash: event.hash,
    at: event.at,
    turn: event.turn,
    lastTurn,
    status,
    live: extendLive(good.live, event.seq),
    ...{ run: undefined, queue: [], approvals: {}, questions: {}, children: {}, openCalls: {}, runningCalls: {} },
    untoldCalls: [],
    quarantine: { seq, reason },
  };
};

/** Returns the fold, or throws if its state is damaged. */
export const sound = (state: SessionFold): SessionFold => {
  if (state.damage) throw eventDamaged(state.damage, state.damage.reason);
  return state;
};

/**
 * Applies one event. Only a rewind and a quarantine need `target`, the fold at the point that they go back to. With
 * `copies`, the fold before the event must not be used any more, unless it is the last of its turn.
 */
export const fold = (
  before: SessionFold | undefined,
  event: SessionEvent,
  target?: SessionFold,
  copies = new OwnCopies(),
): SessionFold => {
  if (event.type === 'session.quarantined') return quarantined(event, target);
  const base = before ?? blank(event);
  if (event.turn > base.lastTurn) copies.release();
  const after = foldOne(base, event, target, copies);
  const handoff = foldHandoff(base, event, after.state);
  return handoff === after.handoff ? after : { ...after, handoff };
};

const foldOne = (
  base: SessionFold,
  event: SessionEvent,
  target: SessionFold | undefined,
  copies: OwnCopies,
): SessionFold => {
  const runs = foldRuns(base, event);
  const moved: SessionFold = {
    ...base,
    ...(runs === base ? undefined : runs),
    ...foldFiles(base, event, target),
    ...foldTracking(base, event, (callId) => base.openCalls[callId]?.inputHash, target),
    seq: event.seq,
    hash: event.hash,
    at: event.at,
    turn: event.turn,
    lastTurn: Math.max(base.lastTurn, event.turn),
    status: statusAfter(base.status, event.type),
    live: extendLive(base.live, event.seq),
    turnProvenance: turnProvenanceAfter(base, event),
    taint: foldTaint(base, event, target?.taint),
    contributors: foldContributors(base.contributors, event, {
      endsRun: base.run !== undefined && runs.run === undefined,
      target: target?.contributors,
    }),
  };
  switch (event.type) {
    case 'session.opened': {
      const { title, agent, metadata, priority, calledBy } = event.payload;
      return { ...moved, title, agent, metadata, priority, calledBy };
    }
    case 'session.forked': {
      const { parent, at, title, metadata, priority, lost } = event.payload;
      return {
        ...moved,
        session: event.session,
        createdAt: event.at,
        parent: { session: parent, seq: at },
        calledBy: undefined,
        holder: 'agent',
        status: statusOfFork(event.payload),
        runningCalls: {},
        quarantine: undefined,
        ...(lost && { lost: [...(moved.lost ?? []), lost].slice(-maxLosses) }),
        title: title ?? moved.title,
        metadata: metadata ?? moved.metadata,
        priority,
      };
    }
    case 'session.described': {
      const { title = moved.title, metadata = moved.metadata, priority = moved.priority } = event.payload;
      return { ...moved, title, metadata, priority };
    }
    case 'session.rewound': {
      if (!target) throw new TypeError(`a rewind to seq ${event.payload.to} needs the fold at that seq`);
      const { messages, lastRole, openCalls, compaction, turnProvenance, kept, firstWords } = target;
      const { state, recentFiles, damage, provenance, adopted, agent, bound } = target;
      const conversation = { messages, lastRole, openCalls, compaction, turnProvenance, kept, firstWords };
      return {
        ...moved,
        ...conversation,
        state,
        recentFiles,
        damage,
        provenance,
        adopted,
        agent,
        bound,
        live: extendLive(target.live, event.seq),
      };
    }
    case 'message.appended': {
      const { message } = event.payload;
      const openCalls = callsAfter(moved, event, copies);
      const attempts = attemptsAfter(moved.attempts, event.turn, event.payload.retries);
      const firstWords = firstWordsAfter(moved, message);
      return { ...moved, messages: moved.messages + 1, lastRole: message.role, openCalls, attempts, firstWords };
    }
    case 'input.admitted':
      return { ...moved, firstWords: firstWordsAfter(moved, event.payload.message) };
    case 'agent.bound':
      return { ...moved, bound: event.payload, agent: event.payload.agent };
    case 'state.committed':
      return committed(moved, event);
    case 'calls.happened':
      return { ...moved, happened: foldHappened(moved.happened, event) };
    case 'context.compacted':
      return { ...moved, compaction: event.payload };
    case 'tool.called': {
      const { callId, tool, effects, reconciles, untrusted, said } = event.payload;
      const running = {
        tool,
        effects,
        reconciles,
        untrusted,
        seq: event.seq,
        at: event.at,
        attempt: 1,
        input: clippedJson(event.payload.input, maxRunningInput),
        ...(said && { said: saidRefAt(said, event.seq) }),
      };
      return { ...moved, runningCalls: withCall(moved.runningCalls, callId, running, copies) };
    }
    case 'tool.retried': {
      const { callId, attempt } = event.payload;
      const running = moved.runningCalls[callId];
      return running ? { ...moved, runningCalls: { ...moved.runningCalls, [callId]: { ...running, attempt } } } : moved;
    }
    case 'taint.inherited': {
      // The result of the call is what its tainted subagent says.
      const { callId = '', sources } = event.payload;
      const running = sources.length > 0 ? moved.runningCalls[callId] : undefined;
      if (!running) return moved;
      return { ...moved, runningCalls: { ...moved.runningCalls, [callId]: { ...running, untrusted: true } } };
    }
    case 'tool.completed':
    case 'tool.failed':
      return { ...moved, runningCalls: without(moved.runningCalls, event.payload.callId, copies) };
    case 'session.handed':
      return { ...moved, holder: event.payload.to };
    default:
      return moved;
  }
};

/** Whether the turn is unfinished at this point: an answer, a result or the rest of a run is missing. */
export const isMidTurn = (state: SessionFold): boolean =>
  state.run !== undefined ||
  Object.keys(state.openCalls).length > 0 ||
  state.lastRole === 'user' ||
  state.lastRole === 'tool';
