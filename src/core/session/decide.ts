import type { Damage } from '../../schema/damage.ts';
import type { Description } from '../../schema/description.ts';
import { PerdureError } from '../../schema/error.ts';
import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import type { HappenedCalls } from '../../schema/happened.ts';
import { type Actor, type RunId, systemActor } from '../../schema/ids.ts';
import type { Requester } from '../../schema/member.ts';
import type { Message } from '../../schema/message.ts';
import type { ReportedFiles } from '../../schema/reported-files.ts';
import type { Limits } from '../../schema/run.ts';
import type { Ownership, Sharing } from '../../schema/sharing.ts';
import type { Agent } from './agent.ts';
import { type AnswerCommand, decideAnswer } from './decide-answer.ts';
import { decideBind } from './decide-bind.ts';
import { type CommitCommand, decideCommit } from './decide-commit.ts';
import { type CommitWithFiles, decideFiles, type FilesCommand, snapshotDraft } from './decide-files.ts';
import { decideReports } from './decide-report.ts';
import type { Decision } from './decision.ts';
import { isMidTurn, type SessionFold, sound } from './fold.ts';
import { happenedDrafts } from './happened.ts';
import { type Command, forbiddenByRun, illegalTransition, lifecycle } from './lifecycle.ts';
import { isLive } from './live-lineage.ts';
import { planOf } from './plan-progress.ts';
import type { Redactor } from './redaction/redact.ts';
import { abandoned, type PartialAnswer } from './runs/partial-answer.ts';
import { endRunningCalls, interruptedCalls, settleOpenCalls } from './runs/settle-calls.ts';
import { inheritTaint, taintNames } from './taint-fold.ts';

/** A command on a session. A rewind and a retry carry the fold at the point that they go back to. */
export type SessionCommand =
  | {
      readonly type: 'append';
      readonly messages: readonly Message[];
      /** The encoded payloads of the events, if they have been encoded already. */
      readonly encoded?: readonly Uint8Array[];
      /** The files that the calls of these messages changed. */
      readonly files?: ReportedFiles | undefined;
    }
  | {
      readonly type: 'admit';
      readonly input: PayloadOf<'input.admitted'>;
      /** Set for the policy `reject`. The input is rejected if a run is active, or is due at this time. */
      readonly whileIdleAt?: number;
    }
  | ({ readonly type: 'update' } & Description)
  | ({ readonly type: 'share' } & Sharing)
  | {
      readonly type: 'pause';
      readonly reason?: string | undefined;
      /** Whether to request the pause even if no run is at work. A request lands at any head. */
      readonly isRequest?: boolean;
    }
  | { readonly type: 'close'; readonly reason?: string | undefined; readonly now: number }
  | { readonly type: 'resume' | 'reopen' | 'archive' | 'unarchive' }
  | (CommitWithFiles & {
      readonly happened?: HappenedCalls | undefined;
      /** The branch that is adopted. */
      readonly adopts?: SessionFold | undefined;
    })
  /** Records the calls of an adopted branch that brings no other change. */
  | { readonly type: 'happen'; readonly happened: HappenedCalls }
  | AnswerCommand
  | { readonly type: 'limit'; readonly limits: Limits; readonly reason?: string | undefined }
  | {
      readonly type: 'compact';
      readonly overlay: PayloadOf<'context.compacted'>;
      /** The previous compaction, which the summary includes. */
      readonly previous: SessionFold['compaction'];
      /** The commits of what the summarizer extracted. No two of them change the same entry. */
      readonly commits: readonly CommitCommand[];
    }
  | {
      readonly type: 'retry';
      readonly turn: number;
      readonly message: Message;
      /** The author of the input that is retried, if it is another member. */
      readonly contributors?: readonly Actor[] | undefined;
      /** The run that will answer the input. Absent if a loop outside Perdure answers it. */
      readonly run?: RunId | undefined;
      readonly from: Requester;
      /** The fold at the end of the previous turn. */
      readonly target: SessionFold;
      readonly happened?: HappenedCalls | undefined;
    }
  | {
      readonly type: 'clearTaint';
      readonly reason: string;
      readonly files?: true | undefined;
      readonly at?: number | undefined;
    }
  | { readonly type: 'bind'; readonly agent: Agent }
  /** Records in the parent that a child session continues. */
  | { readonly type: 'tell'; readonly news: PayloadOf<'child.resumed'> }
  | FilesCommand
  | { readonly type: 'keep'; readonly artifact: PayloadOf<'artifact.kept'> }
  | {
      readonly type: 'rewind';
      readonly target: SessionFold;
      /** What the log has of the answer that was being written at the point. */
      readonly partial?: PartialAnswer | undefined;
      readonly reason?: string | undefined;
      /** The calls that the session will have left behind. */
      readonly happened?: HappenedCalls | undefined;
    };

const allow = ({ status, run }: SessionFold, command: Command, asked?: string): Command => {
  const isAllowed = lifecycle[status][command] !== undefined && !(run && forbiddenByRun.has(command));
  if (!isAllowed) throw illegalTransition(status, command, { asked, run });
  return command;
};

const resultOfRun = (callId: string, run: RunId): PerdureError =>
  new PerdureError(
    'WRITER_FORBIDDEN',
    `${callId} is a call of an active run, and only that run may write its result: hand the session over first`,
    { details: { callId, run } },
  );

/** Every result copies the open calls, so that many more of them would hold the event loop for all sessions. */
const maxOpenCalls = 1000;
/** From so many on, an append must know the newest head, so that appends at once do not pass the limit together. */
const fewOpenCalls = 64;

const refuseManyCalls = (open: number): void => {
  if (open <= maxOpenCalls) return;
  throw new PerdureError(
    'INVALID_INPUT',
    `the session would have ${open} calls without a result, and at most ${maxOpenCalls} are allowed: append their results first`,
    { details: { openCalls: open, max: maxOpenCalls } },
  );
};

/**
 * Checks that each result answers an open call, and that few calls remain open. Returns true if the append must be
 * decided on the newest head, because a result answers a call of an earlier message or many calls are open.
 */
const needsNewestHead = (state: SessionFold, messages: readonly Message[]): boolean => {
  const open = new Set(Object.keys(state.openCalls));
  let settles = false;
  for (const message of messages) {
    if (message.role === 'assistant') {
      const before = open.size;
      for (const part of message.content) if (part.type === 'tool-call') open.add(part.callId);
      if (open.size > before) refuseManyCalls(open.size);
      settles ||= open.size > Math.max(before, fewOpenCalls);
    }
    if (message.role !== 'tool') continue;
    for (const { callId } of message.content) {
      const isEarlier = Object.hasOwn(state.openCalls, callId);
      if (isEarlier && state.run && state.holder === 'agent') throw resultOfRun(callId, state.run.id);
      settles ||= isEarlier;
      if (open.delete(callId)) continue;
      throw new PerdureError(
        'INVALID_INPUT',
        `there is no open call ${callId} for this tool result: first append the assistant message that makes the call, and append each result only once`,
        { details: { callId } },
      );
    }
  }
  return settles;
};

const decideAppend = (
  state: SessionFold,
  { messages, encoded, files = {} }: Extract<SessionCommand, { type: 'append' }>,
  actor: Actor,
  redactor: Redactor,
): Decision => {
  const command = allow(state, 'append');
  const settles = needsNewestHead(state, messages);
  const { marked, after, commit } = decideReports(state, messages, files, actor, redactor);
  const drafts = messages.flatMap((message, place): EventDraft[] => [
    {
      type: 'message.appended',
      payload: { message: marked(message) },
      actor,
      turn: message.role === 'user' ? 'next' : 'current',
      encoded: marked(message) === message ? encoded?.[place] : undefined,
    },
    ...after(message),
  ]);
  if (drafts.length === 0) {
    throw new PerdureError('INVALID_INPUT', 'there is nothing to append: pass at least one message');
  }
  return { drafts: [...drafts, ...(commit ? [commit] : [])], command, fact: !settles && !commit };
};

const refuseWithoutAgent = ({ session, bound }: SessionFold): void => {
  if (bound) return;
  throw new PerdureError(
    'AGENT_INVALID',
    `${session} has no agent that could answer: open it with one, or bind one; a loop of your own uses append`,
    { details: { session } },
  );
};

const refuseWhileBusy = ({ session, run, queue }: SessionFold, now: number): void => {
  const first = run?.id ?? queue.find(({ notBefore = 0 }) => notBefore <= now)?.run;
  if (first === undefined) return;
  throw new PerdureError(
    'SESSION_BUSY',
    `${session} has a run in progress or due: wait for it, or send with another policy`,
    {
      details: { session, run: first },
    },
  );
};

/**
 * Decides to close a session. Running calls end as interrupted, because a tracker cannot write their outcome to a
 * closed session.
 */
const decideClose = (
  state: SessionFold,
  { reason, now }: Extract<SessionCommand, { type: 'close' }>,
  actor: Actor,
): Decision => {
  const command = allow(state, 'close');
  const ended = endRunningCalls(state, interruptedCalls, now);
  const closed: EventDraft = { type: 'session.closed', payload: { reason }, actor, turn: state.turn };
  return { drafts: [...ended, closed], command, ...(ended.length > 0 && { takesOver: true, raisesEpoch: true }) };
};

const cancelQueued = ({ queue, turn }: SessionFold, actor: Actor): readonly EventDraft[] =>
  queue.map(({ run }) => ({ type: 'run.ended', payload: { status: 'cancelled' }, actor, turn, run }));

const decideRewind = (
  state: SessionFold,
  { target, happened }: Pick<Extract<SessionCommand, { type: 'rewind' | 'retry' }>, 'target' | 'happened'>,
  actor: Actor,
  reason: string | undefined,
  verb: 'rewind' | 'retry' = 'rewind',
): Decision => {
  const command = allow(state, 'rewind', verb === 'retry' ? verb : undefined);
  const { seq: to, messages, agent = null, firstWords } = target;
  const tainted = taintNames(target.taint);
  const payload = { to, reason, messages, agent, firstWords, plan: planOf(target.state), tainted };
  const cancelled = cancelQueued(state, actor);
  const rewound: EventDraft = { type: 'session.rewound', payload, actor, turn: target.turn };
  return {
    drafts: [
      ...cancelled,
      rewound,
      ...happenedDrafts(state, happened, { verb, actor, turn: target.turn }),
      ...settleOpenCalls(target),
    ],
    command,
    raisesEpoch: true,
    ...(cancelled.length > 0 && { takesOver: true }),
  };
};

/**
 * Rejects an outdated summary. It is outdated if its last event is no longer live, or if another compaction happened
 * in between.
 */
const refuseOutdatedSummary = (
  { live, compaction }: SessionFold,
  { overlay, previous }: Extract<SessionCommand, { type: 'compact' }>,
): void => {
  const isNewest = compaction?.to === previous?.to && compaction?.summary === previous?.summary;
  if (isNewest && isLive(live, overlay.to)) return;
  throw new PerdureError(
    'CONFLICT',
    `the session was ${isNewest ? 'rewound' : 'compacted by another writer'} while the summary was made, so the summary is outdated: compact again`,
    { details: { from: overlay.from, to: overlay.to } },
  );
};

/**
 * The maximum number of waiting inputs. It is limited because they are part of the fold, which every reader of the
 * session holds in memory.
 */
const maxWaitingInputs = 1000;
const maxWaitingChars = 64 * 1024 * 1024;

const charsOf = ({ message: { content } }: PayloadOf<'input.admitted'>): number =>
  content.reduce((sum, part) => sum + ('text' in part ? part.text.length : 'data' in part ? part.data.length : 0), 0);

const refuseBeyondRoom = ({ session, queue }: SessionFold, input: PayloadOf<'input.admitted'>): void => {
  const chars = [...queue, input].reduce((sum, each) => sum + charsOf(each), 0);
  if (queue.length < maxWaitingInputs && chars <= maxWaitingChars) return;
  throw new PerdureError(
    'SESSION_BUSY',
    `${queue.length} inputs wait in ${session}, and the limit is ${maxWaitingInputs} inputs or ${maxWaitingChars} characters: send more after some were answered or cancelled`,
    { details: { session, waiting: queue.length } },
  );
};

/**
 * The commands that depend on the state, which fail if the state is damaged. All other commands stay possible, so that
 * a rewind can go back to before the damage.
 */
const needsState: ReadonlySet<SessionCommand['type']> = new Set([
  'append',
  'admit',
  'commit',
  'compact',
  'bind',
  'files',
]);

/**
 * Decides which events a command produces on this state. This is a pure function. Throws a PerdureError that says why
 * the command is rejected.
 */
export const decide = (state: SessionFold, command: SessionCommand, actor: Actor, redactor: Redactor): Decision => {
  const one = (draft: EventDraft, allowed: Command): Decision => ({ drafts: [draft], command: allowed });
  const common = { actor, turn: state.turn };
  if (needsState.has(command.type)) sound(state);
  switch (command.type) {
    case 'append':
      return decideAppend(state, command, actor, redactor);
    case 'admit': {
      refuseWithoutAgent(state);
      if (command.whileIdleAt !== undefined) refuseWhileBusy(state, command.whileIdleAt);
      refuseBeyondRoom(state, command.input);
      const draft: EventDraft = {
        type: 'input.admitted',
        payload: command.input,
        actor,
        turn: state.turn,
        run: command.input.run,
      };
      return { drafts: [draft], command: allow(state, 'send'), fact: command.whileIdleAt === undefined };
    }
    case 'answer':
      return decideAnswer(state, command, actor);
    case 'limit':
      return one(
        { type: 'budget.set', payload: { limits: command.limits, reason: command.reason }, ...common },
        allow(state, 'commit'),
      );
    case 'commit': {
      const allowed = allow(state, 'commit');
      const draft = decideCommit(state, command, actor, redactor);
      const snapshot = command.files && snapshotDraft(state, command.files, actor);
      const noted = happenedDrafts(state, command.happened, { verb: 'adopt', ...common });
      const taint = command.adopts ? inheritTaint(command.adopts, { via: 'adopt', ...common }) : [];
      return { drafts: [snapshot, draft, ...taint, ...noted].filter((each) => each !== undefined), command: allowed };
    }
    case 'happen':
      return {
        drafts: happenedDrafts(state, command.happened, { verb: 'adopt', ...common }),
        command: allow(state, 'commit'),
      };
    case 'compact': {
      const allowed = allow(state, 'commit');
      refuseOutdatedSummary(state, command);
      const compacted: EventDraft = { type: 'context.compacted', payload: command.overlay, ...common };
      const commits = command.commits.map((commit) => decideCommit(state, commit, actor, redactor));
      return { drafts: [compacted, ...commits.filter((each) => each !== undefined)], command: allowed };
    }
    case 'retry': {
      const reason = `retry of turn ${command.turn}`;
      const { drafts, ...rest } = decideRewind(state, command, actor, reason, 'retry');
      allow(state, 'append', 'retry');
      const { message, run, from, target, turn: retries } = command;
      const contributors = command.contributors && [...command.contributors];
      const asked: EventDraft = run
        ? {
            type: 'input.admitted',
            payload: { run, message, policy: 'queue', from, retries, contributors },
            actor,
            turn: target.turn,
            run,
          }
        : { type: 'message.appended', payload: { message, retries, contributors }, actor, turn: 'next' };
      return { ...rest, drafts: [...drafts, asked] };
    }
    case 'clearTaint':
      return decideClear(state, command, actor, allow(state, 'commit', 'clear the taint'));
    case 'bind':
      return { drafts: decideBind(state, command.agent, actor, redactor), command: allow(state, 'commit') };
    case 'files':
      return { drafts: decideFiles(state, command, actor, redactor), command: allow(state, 'commit') };
    case 'keep':
      return one({ type: 'artifact.kept', payload: command.artifact, ...common }, allow(state, 'commit'));
    case 'tell': {
      const { callId } = command.news;
      const isAwaited = state.runningCalls[callId] && state.children[callId]?.waiting;
      const told: EventDraft = { type: 'child.resumed', payload: command.news, ...common, run: state.run?.id };
      return { drafts: isAwaited ? [told] : [], command: 'commit' };
    }
    case 'update': {
      const { type: _, ...payload } = command;
      return one({ type: 'session.described', payload, ...common }, allow(state, 'update'));
    }
    case 'share': {
      const { type: _, ...payload } = command;
      // The row of `fork`, because every status allows it.
      return {
        drafts: [{ type: 'session.shared', payload, actor, turn: 'current' }],
        command: allow(state, 'fork', 'share'),
        fact: true,
      };
    }
    case 'pause': {
      const payload = { reason: command.reason };
      const isAtWork = state.run && !state.run.waitingFor;
      if (isAtWork || (command.isRequest && state.status === 'active')) {
        const draft: EventDraft = { type: 'session.pausing', payload, actor, turn: 'current' };
        return { ...one(draft, allow(state, 'requestPause')), fact: true };
      }
      return one({ type: 'session.paused', payload, ...common }, allow(state, 'pause'));
    }
    case 'close':
      return decideClose(state, command, actor);
    case 'resume':
      return one({ type: 'session.resumed', payload: {}, ...common }, allow(state, 'resume'));
    case 'reopen':
      return one({ type: 'session.reopened', payload: {}, ...common }, allow(state, 'reopen'));
    case 'archive':
      return one({ type: 'session.archived', payload: {}, ...common }, allow(state, 'archive'));
    case 'unarchive':
      return one({ type: 'session.restored', payload: {}, ...common }, allow(state, 'unarchive'));
    case 'rewind': {
      const { drafts, ...rest } = decideRewind(state, command, actor, command.reason);
      return { ...rest, drafts: [...drafts, ...cutAnswer(command.target, command.partial)] };
    }
  }
};

/** Decides to clear the taint. An approver who read the session up to an event does not vouch for what came after it. */
const decideClear = (
  { taint, turn }: SessionFold,
  { reason, files, at }: Extract<SessionCommand, { type: 'clearTaint' }>,
  actor: Actor,
  command: Command,
): Decision => {
  const hasFiles = taint.files.all || taint.files.paths.length > 0 || taint.isUnlisted;
  if (taint.sources.length === 0 && !(files && hasFiles)) return { drafts: [], command };
  if (at !== undefined && (taint.last ?? 0) > at) {
    throw new PerdureError(
      'CONFLICT',
      `event ${taint.last} brought data from outside after event ${at}: look at it, and clear the taint at ${taint.last}`,
      { details: { at, newest: taint.last } },
    );
  }
  return { drafts: [{ type: 'taint.cleared', payload: { reason, files }, actor, turn }], command };
};

/** An answer that was being written at a point goes no further there. It is charged where it was written. */
const cutAnswer = ({ turn }: SessionFold, partial: PartialAnswer | undefined): readonly EventDraft[] =>
  partial
    ? [abandoned(partial.message, 'stopped', { ...partial, usage: undefined }, { actor: systemActor, turn })]
    : [];

interface ForkDetails {
  /** The owner and the sharing of the session that is forked, as they are now. */
  readonly ownership?: Ownership | undefined;
  readonly title?: string | undefined;
  /** The damage of the session that the fork continues. */
  readonly lost?: Damage | undefined;
  /** What the log has of the answer that was being written at the point. */
  readonly partial?: PartialAnswer | undefined;
  /** The calls that happened beyond the point. */
  readonly happened?: HappenedCalls | undefined;
}

/** The first events of a fork at `point`. Its parent is the session that owns the event at that point. */
export const decideFork = (
  point: SessionFold,
  actor: Actor,
  { title, lost, partial, happened, ownership }: ForkDetails,
): readonly [EventDraft, ...EventDraft[]] => {
  const { agent, metadata, messages, lastTurn, firstWords } = point;
  const payload = {
    parent: point.session,
    at: point.seq,
    midTurn: isMidTurn(point),
    lastTurn,
    messages,
    title: title ?? point.title,
    agent,
    metadata,
    ...ownership,
    firstWords,
    plan: planOf(point.state),
    tainted: taintNames(point.taint),
    ...(lost && { lost }),
  };
  const common = { actor, turn: point.turn };
  return [
    { type: 'session.forked', payload, ...common },
    ...happenedDrafts(point, happened, { verb: 'fork', ...common }),
    ...settleOpenCalls(point),
    ...cutAnswer(point, partial),
  ];
};
