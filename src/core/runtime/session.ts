import { z } from 'zod';
import { listOf } from '../../schema/bounded.ts';
import { type BegunCall, CallBeginning, CallEnding } from '../../schema/call-request.ts';
import type { Damage } from '../../schema/damage.ts';
import { Description } from '../../schema/description.ts';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { HappenedCalls } from '../../schema/happened.ts';
import { CallersKey } from '../../schema/idempotency-key.ts';
import { newId, RunId, SessionId } from '../../schema/ids.ts';
import { type Json, Text } from '../../schema/json.ts';
import { isAtLeast } from '../../schema/member-roles.ts';
import { Message, type MessageInput, ToolCallId } from '../../schema/message.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { ReportedFiles } from '../../schema/reported-files.ts';
import { Limits } from '../../schema/run.ts';
import type { OwnState, Provenance, ShownState } from '../../schema/state.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { TaintReport } from '../../schema/taint.ts';
import type { Trace } from '../../schema/trace.ts';
import { writeBundle } from '../bundles/write-bundle.ts';
import { type Compaction, type CompactOptions, compactSession } from '../context/compact.ts';
import { type ContextOptions, readContext } from '../context/context.ts';
import { recallKey } from '../context/recall.ts';
import { readTranscript, type TranscriptOptions, type TranscriptPage } from '../context/transcript.ts';
import { type EventsOptions, readEvents } from '../engine/events.ts';
import { type ExecuteOptions, execute } from '../engine/execute.ts';
import { leaveFolder } from '../engine/open-files.ts';
import type { DiffPlace } from '../engine/places.ts';
import { refuseUnoffered } from '../engine/refuse-unoffered.ts';
import { keyOf } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import { damageOf } from '../maintenance/describe-damage.ts';
import { despiteDamage } from '../maintenance/quarantine.ts';
import { type Verification, type VerifyOptions, verifySession } from '../maintenance/verify.ts';
import { type AnswerOptions, type ApproveOptions, answerApproval } from '../runs/approvals.ts';
import { cancelRun } from '../runs/cancel.ts';
import { findRun } from '../runs/find-run.ts';
import { type HandoffOptions, handOver } from '../runs/handoff.ts';
import { limitSession } from '../runs/limit.ts';
import { listRuns, type RunPage, type RunsOptions } from '../runs/list-runs.ts';
import { type PauseOptions, pauseSession, resumeSession } from '../runs/pause.ts';
import { type Retry, type RetryOptions, retryTurn } from '../runs/retry.ts';
import type { Run } from '../runs/runs.ts';
import { type SendInput, type SendOptions, sendInput } from '../runs/send.ts';
import { type SessionUsage, usageOf } from '../runs/usage.ts';
import { type WaitingInput, waitingInputs } from '../runs/waiting-inputs.ts';
import { type Agent, isAgent, type OutputOf, type OwnOf } from '../session/agent.ts';
import type { Context } from '../session/context/context.ts';
import type { SessionCommand } from '../session/decide.ts';
import { encodeValid } from '../session/events/event-codec.ts';
import type { CommitRecord } from '../session/state/commit-record.ts';
import { type SessionArtifacts, sessionArtifacts } from '../session-files/artifacts.ts';
import { type SessionFiles, sessionFiles } from '../session-files/session-files.ts';
import { type Adoption, type AdoptOptions, adoptBranch } from '../sessions/adopt.ts';
import { type AttemptPage, type AttemptsOptions, listAttempts } from '../sessions/attempts.ts';
import { type ForkOptions, forkSession } from '../sessions/fork.ts';
import { type HappenedOptions, readHappened } from '../sessions/happened.ts';
import { repairSession } from '../sessions/repair.ts';
import { type Reversal, revertCommit } from '../sessions/revert.ts';
import { type Rewind, type RewindOptions, rewindSession } from '../sessions/rewind.ts';
import { type ShareOptions, shareSession } from '../sessions/share.ts';
import { readTree, type TreeNode } from '../sessions/tree.ts';
import { type Change, type CommitOptions, commitState, liftProvenance } from '../state/commit.ts';
import { type CallPage, type CommitPage, findCalls, findCommits } from '../state/commits.ts';
import { type Comparison, compareBranches } from '../state/compare.ts';
import { type DiffOptions, diffPlaces, type SessionDiff } from '../state/diff.ts';
import { readState, type StateOptions } from '../state/read-state.ts';
import type { CallFilter, CommitFilter, WatchFilter } from '../state/record-filter.ts';
import { type ClearTaintOptions, clearTaint, readTaint } from '../state/taint.ts';
import { type TraceOptions, traceEntry } from '../state/trace.ts';
import { watchCommits } from '../state/watch.ts';
import { endDeadCalls } from '../tracking/dead-calls.ts';
import type { TrackDeclarations } from '../tracking/declaration.ts';
import { beginCall, endCall } from '../tracking/remote-calls.ts';
import { callTracking } from '../tracking/track.ts';
import type { BeginCall } from '../tracking/tracked-call.ts';
import {
  type DeclarationsFor,
  isToolClient,
  type ToolClient,
  type ToolSet,
  type Tracked,
  toolRunner,
  wrapTools,
} from '../tracking/wrap-tools.ts';
import { type Replay, type ReplayOptions, replayTurn } from '../worker/replay.ts';
import type { Scope } from './scope.ts';

/** The damage of a session and the fork that continues it. Both are absent if the log of the session is whole. */
export interface Repair<Own = Record<string, unknown>, Output = unknown> {
  readonly damage?: Damage | undefined;
  readonly fork?: Session<Own, Output> | undefined;
}

/** Maximum messages per append, so that other writers can append in between. */
export const maxMessages = 1000;

/**
 * A handle on a session, with the types of its agent. `Session` without type arguments fits any agent. The handle
 * holds no resource: `close` ends the session itself, and `reopen` undoes that.
 */
export interface Session<Own = Record<string, unknown>, Output = unknown> {
  // Identity and lifecycle

  readonly id: SessionId;
  /** The summary that listings show: title, status, agent, counts and origin. */
  summary(): Promise<SessionSummary>;
  /** Changes the title, metadata or priority. */
  update(about: Description): Promise<void>;
  /**
   * Changes who sees the session, and the sessions of its subagents. Only its owner may, or an admin, which is audited.
   */
  share(options: ShareOptions): Promise<void>;
  /**
   * Binds the session to an agent, or to another version of its agent. The returned handle has the types of that agent.
   */
  bind<A extends Agent>(agent: A): Promise<SessionOf<A>>;
  /**
   * Pauses the session at the next safe point of its run. `withinMs` limits the wait for that point. A call that is
   * cut off at the limit ends as interrupted, or runs again after the pause.
   */
  pause(options?: PauseOptions): Promise<void>;
  /** Ends a pause. Work that waited in the session continues. */
  resume(): Promise<void>;
  /** Ends the session's work. The session stays readable, and `reopen` opens it again. */
  close(options?: { readonly reason?: string | undefined }): Promise<void>;
  /** Opens a closed session again. */
  reopen(): Promise<void>;
  /** Archives a closed session. Its worktrees may then be collected. */
  archive(): Promise<void>;
  /** Returns the session from the archive to the status `closed`. */
  unarchive(): Promise<void>;

  // Input and runs

  /**
   * Stores the input and creates the run that will answer it. A worker executes the run: the runtime's own worker, or
   * another worker on the same store.
   */
  send(input: SendInput, options?: SendOptions): Promise<Run<Output>>;
  /** The waiting inputs, in order of arrival. No run has begun with them, and they have not joined a run. */
  inputs(): Promise<readonly WaitingInput[]>;
  /** Finds a run of this session that was admitted earlier, by this process or another. */
  run(id: string): Promise<Run<Output>>;
  /**
   * The runs of this session, the last admitted one first: how each ended or what it waits for, who worked on it, with
   * which model and tools, and what it used.
   */
  runs(options?: RunsOptions): Promise<RunPage>;
  /**
   * Cancels the run in progress immediately, or the given run. Returns the id of the cancelled run, or undefined if
   * there was none.
   */
  cancel(run?: RunId): Promise<RunId | undefined>;
  /**
   * Appends messages from a caller that runs its own agent loop, at most 1,000 per call. A user's message opens a
   * turn. The result of a call that was not tracked adds a record of the call, and `files` names the files that each
   * call changed.
   */
  append(
    messages: MessageInput | readonly MessageInput[],
    options?: z.input<typeof AppendOptions>,
  ): Promise<readonly SessionEvent<'message.appended'>[]>;
  /**
   * Claims the session and returns the same tools, with every call journaled: its start, its outcome and its declared
   * changes. This handle holds the session until another handle tracks it or it is rewound. Later calls fail with
   * FENCED before the tool runs. Calls of these tools that were in flight when an earlier process died are settled
   * first, by their `effects` and `reconcile`. The result or error of a tool that ran always reaches the loop. If the
   * outcome cannot be journaled, `onWarning` receives the problem.
   */
  track<Tools extends ToolSet | ToolClient>(
    tools: Tools,
    declarations?: DeclarationsFor<Tools>,
  ): Promise<Tracked<Tools>>;
  /**
   * Journals the start of a call whose tool runs elsewhere, such as in a loop in another language. The first call of a
   * loop claims the session and returns a token. Later calls of the loop show the token, and fail with FENCED once
   * another writer has claimed the session.
   */
  beginCall(call: z.input<typeof CallBeginning>, options?: z.input<typeof WithKey>): Promise<BegunCall>;
  /** Journals the end of a call that `beginCall` began. The token must be that of the current claim. */
  endCall(callId: string, end: z.input<typeof CallEnding>, options?: z.input<typeof WithKey>): Promise<void>;
  /** Sets the session's limits. A run that waits because the budget was used up continues. */
  limit(limits: Limits, options?: { readonly reason?: string | undefined }): Promise<void>;
  /** The usage of the session so far, and its limits. */
  usage(): Promise<SessionUsage>;

  // People

  /** Answers the agent's question, by the id of its call. */
  answer(callId: string, text: string): Promise<void>;
  /** Approves a waiting call, by the id of the approval. The model receives the comment with the result. */
  approve(approval: string, options?: ApproveOptions): Promise<void>;
  /** Denies a waiting call. The model receives the comment. */
  deny(approval: string, options?: AnswerOptions): Promise<void>;
  /**
   * Hands the session to any person, to one member or to the members with a role, or back to the agent. While a member
   * or a role holds it, only they and admins may act in it. The model is informed about what people did, and receives
   * the reason given at handing back.
   */
  handoff(options: HandoffOptions): Promise<void>;

  // State

  /** The typed state, now or at a point. `waiting` is computed from the log: what the session waits for there. */
  state(options?: StateOptions & { readonly path?: undefined }): Promise<ShownState<Own>>;
  /** The part of the state at a path. Fails with POINT_NOT_FOUND if there is nothing. */
  state(options: StateOptions & { readonly path: string }): Promise<Json>;
  /** Changes the state by a function on a draft, or by an RFC 6902 patch. Returns undefined if nothing changed. */
  commit(change: Change<Own>, options?: CommitOptions): Promise<CommitRecord | undefined>;
  /** Raises the provenance of state entries, and records why. */
  lift(
    path: string | readonly string[],
    options: { readonly to: Provenance; readonly why: string },
  ): Promise<CommitRecord>;
  /** What taints the session: the results that brought data from outside, and the files that carry it on. */
  taint(): Promise<TaintReport>;
  /**
   * Vouches for what the session holds, with a reason. Only an approver may, and it is audited. Returns what tainted it.
   * Fails with CONFLICT if further data from outside came in meanwhile.
   */
  clearTaint(options: ClearTaintOptions): Promise<TaintReport>;
  /** Returns matching commits of the live lineage, newest first, page by page. */
  commits(filter?: CommitFilter): Promise<CommitPage>;
  /** Yields every matching commit when it is appended, starting at this call. */
  watchCommits(filter?: WatchFilter): AsyncGenerator<CommitRecord, void, void>;
  /**
   * Walks from an entry such as `/facts/port`, a file such as `files:src/a.ts` or an event such as `seq:17` back to the
   * messages and results that it rests on, and forward to what rests on it.
   */
  trace(entry: string, options?: TraceOptions): Promise<Trace>;
  /**
   * Reverts a commit. Reverting an adoption also reverts its file changes. Reverting any other commit does not change
   * files.
   */
  revert(seq: number, options?: { readonly why?: string | undefined }): Promise<Reversal | undefined>;

  // History and branches

  /**
   * Yields the events in order, starting after a seq. With `follow`, also yields events that any process appends
   * later.
   */
  events(options?: EventsOptions): AsyncGenerator<SessionEvent, void, void>;
  /**
   * Matching calls of the live lineage, newest first, page by page. Includes calls that were refused before they ran. A
   * call that was cut off by a fork or a rewind is reported as `interrupted`. With `input`, each call has its input and output.
   */
  toolCalls(filter?: CallFilter): Promise<CallPage>;
  /** The whole family that the session belongs to, from its root. */
  tree(): Promise<TreeNode>;
  /** What happened differently between two places, and how their states and files differ. */
  diff(from: DiffPlace, to: DiffPlace, options?: DiffOptions): Promise<SessionDiff>;
  /**
   * What came of 2 to 8 branches since the point that all of them share: answer, decisions, files, usage and outcome. A
   * branch is any place, such as another session or an attempt at a turn.
   */
  compare(branches: readonly DiffPlace[]): Promise<Comparison>;
  /** Creates a child session that continues from a point, by default from the head. Nothing is copied. */
  fork(options?: ForkOptions): Promise<Session<Own, Output>>;
  /** Adopts the changes of a branch in state and files, as one commit. Reports the entries that both sides changed. */
  adopt(branch: { readonly id: SessionId } | SessionId, options?: AdoptOptions): Promise<Adoption>;
  /**
   * Goes back to a point. Nothing is erased, and waiting inputs are cancelled. Returns the calls with effects beyond
   * the point, which are not undone.
   */
  rewind(options: RewindOptions): Promise<Rewind>;
  /**
   * Sends the input of a turn again, as a new attempt beside the old one. This rewinds the session, so waiting inputs
   * are cancelled. If calls of the turn took effect, or may have, this fails with EFFECTS_HAPPENED unless `again` is
   * set.
   */
  retry(options: RetryOptions): Promise<Retry<Output>>;
  /**
   * The attempts at retried turns, page by page. Each names its place: `{ turn, attempt }` is a point of every verb
   * that takes one, also after a retry or a rewind left it behind.
   */
  attempts(options?: AttemptsOptions): Promise<AttemptPage>;
  /**
   * The calls with effects that the session's rewinds, retries, fork and adoptions left behind. With `after`, those
   * that going back to this point would leave behind.
   */
  happened(options?: HappenedOptions): Promise<HappenedCalls>;
  /**
   * Plays a turn again on a fork, with the recorded answers or with another model or agent. Reports where the replay
   * differs from the recording.
   */
  replay(options: ReplayOptions): Promise<Replay>;

  // Context

  /**
   * The messages of the live lineage, now or at a point, oldest first. The first page has the newest messages, and its
   * cursor leads to those before them.
   */
  transcript(options?: TranscriptOptions): Promise<TranscriptPage>;
  /** The context that a model would receive next. `evicted` names what it leaves out, for `recall`. */
  context(options?: ContextOptions): Promise<Context>;
  /** Keeps a fact verbatim in every context from the next turn on. */
  pin(fact: string): Promise<void>;
  /** Undoes `pin`. */
  unpin(fact: string): Promise<void>;
  /**
   * Replaces the older turns of the context by a summary, and commits the facts and decisions that the summarizer
   * extracted. Returns undefined if there is nothing to compact.
   */
  compact(options?: CompactOptions): Promise<Compaction | undefined>;
  /** Returns content that was left out of a context, by its key or name, such as `file:src/a.ts@turn:4`. */
  recall(key: string): Promise<unknown>;

  // Files

  readonly files: SessionFiles;
  readonly artifacts: SessionArtifacts;

  // Maintenance

  /** Checks the hash chain and the files that it names. Reports the first event that differs from what was written. */
  verify(options?: VerifyOptions): Promise<Verification>;
  /**
   * Checks the log, and says what is lost if one of its events is damaged, or names files that are. Returns undefined
   * if the log is whole.
   */
  damage(): Promise<Damage | undefined>;
  /**
   * Continues a damaged session from its last good event as a fork, which says what is lost. The session itself is
   * quarantined: it stays readable up to the damage, but accepts no more work. Changes nothing if the log is whole.
   */
  repair(): Promise<Repair<Own, Output>>;
  /** Exports the session and the lineage it needs, as one portable file. */
  export(): AsyncIterable<Uint8Array>;
}

const pinProblem = (fact: string): PerdureError =>
  new PerdureError('STATE_INVALID', `there is no fact ${fact} to pin: commit it first`, { details: { fact } });

const Messages = z.strictObject({ messages: listOf(Message, { max: maxMessages }) });
const WithKey = z.strictObject({ idempotencyKey: CallersKey.optional() });
const AppendOptions = WithKey.extend({ files: ReportedFiles.optional() });
const WithReason = z.strictObject({ reason: Text.max(2000).optional() });

/** Turns plain text into one text part, and adds missing ids. The schema validates everything else. */
const messageOf = (input: MessageInput): unknown => {
  if (typeof input !== 'object' || input === null) return input;
  const { id = newId('msg'), content } = input;
  return { ...input, id, content: typeof content === 'string' ? [{ type: 'text', text: content }] : content };
};

/** A session with the types of an agent. */
export type SessionOf<A extends Agent> = Session<OwnOf<A>, OutputOf<A>>;

/**
 * Creates a handle on a session. The log holds plain JSON, so a caller that names the agent is responsible for the
 * types.
 */
export const sessionHandle = (scope: Scope, id: SessionId): Session<OwnState, Json> => {
  const key = keyOf(scope, id);
  const files = sessionFiles(scope, key);
  const trackCalls = callTracking(scope, key);
  const run = async (command: SessionCommand, options?: ExecuteOptions) => execute(scope, key, command, options);
  const move = async (command: SessionCommand): Promise<void> => {
    await run(command);
  };
  /** Starts the runtime's own worker after a command, because the run may continue now. */
  const thenWork = async <T>(resumed: Promise<T>): Promise<T> => {
    const result = await resumed;
    scope.needWorker(key);
    return result;
  };
  const maySettle = isAtLeast(scope.caller.role, 'member'); // as `append` requires
  return scope.give<Session<OwnState, Json>>('session', {
    id,
    files,
    artifacts: sessionArtifacts(scope, key),
    summary: async () => {
      const head = await scope.store.head(key);
      if (!head) throw sessionNotFound(key);
      return head.summary;
    },
    append: async (input, options = {}) => {
      const { idempotencyKey, files } = parseInput('the append', AppendOptions, options);
      const inputs = Array.isArray(input) ? (input as readonly MessageInput[]) : [input as MessageInput];
      const { messages } = parseInput('the append', Messages, { messages: inputs.map(messageOf) });
      const encoded = messages.map((message) => encodeValid('message.appended', { message }));
      const body = files ? { messages: inputs, files } : inputs;
      const events = await run({ type: 'append', messages, encoded, files }, { idempotencyKey, body });
      return events.filter((event) => event.type === 'message.appended');
    },
    send: (input, options) => sendInput(scope, key, input, options),
    inputs: () => waitingInputs(scope, key),
    run: (wanted) => findRun(scope, key, wanted),
    runs: (options) => listRuns(scope, key, options),
    cancel: async (wanted) => cancelRun(scope, key, parseInput('the run', RunId.optional(), wanted)),
    answer: async (question, text) =>
      thenWork(
        move({
          type: 'answer',
          question: parseInput('the call', ToolCallId, question),
          text: parseInput('the answer', Text.max(100_000), text),
        }),
      ),
    approve: (approval, options) => answerApproval(scope, key, approval, 'approved', options),
    deny: (approval, options) => answerApproval(scope, key, approval, 'denied', options),
    handoff: (options) => thenWork(handOver(scope, key, options)),
    limit: async (limits, options = {}) => {
      const { reason } = parseInput('the options', WithReason, options);
      await thenWork(limitSession(scope, key, parseInput('the limits', Limits, limits), reason));
    },
    usage: () => usageOf(scope, key),
    update: async (about) => move({ type: 'update', ...parseInput('the description', Description, about) }),
    share: (options) => shareSession(scope, key, options),
    events: (options) => readEvents(scope, key, options),
    transcript: (options) => readTranscript(scope, key, options),
    context: (options) =>
      readContext(scope, key, options, maySettle ? (fold) => endDeadCalls(scope, key, fold) : undefined),
    pause: (options) => pauseSession(scope, key, options),
    resume: () => thenWork(resumeSession(scope, key)),
    close: async (options = {}) => {
      const about = parseInput('the closing', WithReason, options);
      await despiteDamage(scope, key, () => move({ type: 'close', now: scope.clock.now(), ...about }));
      await leaveFolder(scope, key);
    },
    reopen: () => move({ type: 'reopen' }),
    archive: async () => {
      await despiteDamage(scope, key, () => move({ type: 'archive' }));
      await leaveFolder(scope, key);
    },
    unarchive: () => despiteDamage(scope, key, () => move({ type: 'unarchive' })),
    state: (options?: StateOptions) => readState(scope, key, options) as Promise<never>,
    commit: (change, options) => commitState(scope, key, change, options),
    lift: (path, options) => liftProvenance(scope, key, path, options),
    taint: () => readTaint(scope, key),
    clearTaint: (options) => thenWork(clearTaint(scope, key, options)),
    commits: (filter) => findCommits(scope, key, filter),
    toolCalls: (filter) => findCalls(scope, key, filter),
    watchCommits: (filter) => watchCommits(scope, key, filter),
    trace: (entry, options) => traceEntry(scope, key, entry, options),
    revert: (seq, options) => revertCommit(scope, key, seq, options),
    adopt: async (branch, options) =>
      adoptBranch(
        scope,
        key,
        parseInput('the branch', SessionId, typeof branch === 'string' ? branch : branch?.id),
        options,
      ),
    diff: (from, to, options = {}) =>
      diffPlaces(scope, key, [from, to], options, async (a, b) => (await files.diff(a, b)).files),
    compare: (branches) => compareBranches(scope, key, branches),
    bind: async <A extends Agent>(agent: A) => {
      if (isAgent(agent)) refuseUnoffered(scope, agent);
      await move({ type: 'bind', agent });
      return sessionHandle(scope, id) as SessionOf<A>;
    },
    pin: async (fact) => {
      await commitState(scope, key, (draft) => {
        if (!Object.hasOwn(draft.facts, fact)) throw pinProblem(fact);
        draft.pins[fact] = true;
      });
    },
    unpin: async (fact) => {
      await commitState(scope, key, (draft) => {
        delete draft.pins[fact];
      });
    },
    compact: (options) => compactSession(scope, key, options),
    recall: (wanted) => recallKey(scope, key, wanted),
    track: async (tools, declarations) => {
      let begin: BeginCall | undefined;
      const tracked = wrapTools((call) => begin!(call), tools);
      const declared = (declarations ?? {}) as TrackDeclarations;
      begin = await trackCalls(declared, toolRunner(tools, declared), isToolClient(tools));
      return tracked;
    },
    beginCall: async (call, options = {}) =>
      beginCall(scope, key, parseInput('the call', CallBeginning, call), parseInput('the options', WithKey, options)),
    endCall: async (callId, end, options = {}) =>
      endCall(
        scope,
        key,
        parseInput('the call', ToolCallId, callId),
        parseInput('the end of the call', CallEnding, end),
        parseInput('the options', WithKey, options),
      ),
    retry: (options) => thenWork(retryTurn(scope, key, options)),
    attempts: (options) => listAttempts(scope, key, options),
    replay: (options) => replayTurn(scope, key, options),
    fork: async (options) => sessionHandle(scope, await forkSession(scope, key, options)),
    rewind: (options) => rewindSession(scope, key, options),
    happened: (options) => readHappened(scope, key, options),
    tree: () => readTree(scope, key),
    verify: (options) => verifySession(scope, key, options),
    damage: () => damageOf(scope, key),
    repair: async () => {
      const { damage, fork } = await repairSession(scope, key);
      return { damage, ...(fork && { fork: sessionHandle(scope, fork) }) };
    },
    export: () => writeBundle(scope, [id]),
  });
};
