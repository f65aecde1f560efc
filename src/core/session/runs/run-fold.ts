import type { PayloadOf, SessionEvent } from '../../../schema/event.ts';
import type { EarlierCall } from '../../../schema/happened.ts';
import {
  type Actor,
  type ApprovalId,
  type MessageId,
  type RunId,
  type SessionId,
  systemActor,
} from '../../../schema/ids.ts';
import type { Json } from '../../../schema/json.ts';
import type { Requester } from '../../../schema/member.ts';
import type { Limits, Spent, Usage, WaitReason } from '../../../schema/run.ts';
import type { RunFailure } from '../../../schema/run-failure-catalog.ts';
import type { Taint } from '../../../schema/taint.ts';
import { copyRecord } from '../events/copy-record.ts';
import { stopClock, stopClockAt, stopClockOfDead, withSignOfLife } from './active-time.ts';
import { failureAfter, failureOfAnswer } from './final-failure.ts';
import { afterAnswer, afterFailure, isCompacted, type ModelTrials, noTrials } from './model-trials.ts';
import { isRestOfCall } from './partial-answer.ts';
import { type Stop, stopAfter } from './stop.ts';
import { type Calibration, calibrate, windowCorrection } from './token-calibration.ts';

/** An input whose run has not begun. */
export type QueuedInput = PayloadOf<'input.admitted'> & {
  readonly seq: number;
  readonly at: number;
  readonly by: Actor;
  /** Set when a worker reported that it does not have the agent. */
  readonly lacksAgent?: true;
  /** Set from the request of a cancel until the run has ended. */
  readonly cancelledBy?: Actor;
};

/** The event since which something waits. */
export interface Since {
  readonly seq: number;
  readonly at: number;
}

/** A model request that has no answer yet. */
export interface AskedModel {
  /** The id reserved for the answer. */
  readonly message: MessageId;
  /** The tokens reserved for the request and its answer. */
  readonly tokens: number;
  /** The size of the request that was estimated at first. */
  readonly estimated?: number | undefined;
  /** The seq of `model.called`. */
  readonly seq: number;
  /** The maximum length of the answer, if the budget left less than the agent wants. */
  readonly budgeted?: number | undefined;
  /** Whether the log has pieces of the answer. The pieces stay in the log, so that the fold does not grow with them. */
  readonly hasPieces?: true;
}

/** The run that has begun and not ended. A session has one at most. */
export interface ActiveRun {
  readonly id: RunId;
  readonly turn: number;
  readonly attempt: number;
  /** The actor whose input it answers. */
  readonly requestedBy: Actor;
  readonly from?: Requester | undefined;
  /** What the run waits for. Absent while the run is in progress or can be continued. */
  readonly waitingFor?: WaitReason | undefined;
  /** Since when the run waits, and why. */
  readonly wait?: (Since & Pick<PayloadOf<'run.waiting'>, 'reason'>) | undefined;
  /** The time at which the run continues by itself. */
  readonly waitsUntil?: number | undefined;
  /** Set while a stop of the run is not settled. Its workers are fenced already. */
  readonly stop?: Stop | undefined;
  /** The child session that the run waits for, if it waits for a subagent. */
  readonly waitsIn?: SessionId | undefined;
  /** The number of model answers so far. */
  readonly steps: number;
  /** The number of model failures since its last answer. */
  readonly failures: number;
  /** Whether the model has rejected a context as too long since its last answer. */
  readonly overflowed: boolean;
  /** The models that the run has asked. */
  readonly trials: ModelTrials;
  /** Why the run must fail. Kept in the fold, because the worker may die before it records the end of the run. */
  readonly failure?: RunFailure | undefined;
  /** How often the model was asked to correct an output that does not fit the schema. */
  readonly repairs: number;
  /** The pending model request. */
  readonly asked?: AskedModel | undefined;
  /** When the run last started or resumed. The time from then until the next wait is counted as active time. */
  readonly activeSince?: number | undefined;
  /** The time of the newest event that a worker wrote for the run. A dead worker writes none. */
  readonly workedAt: number;
  /** How much smaller the context window is than its estimate, at least 1. Within a run it only rises. */
  readonly windowCorrection: number;
}

export interface ApprovalState {
  readonly id: ApprovalId;
  readonly callId: string;
  readonly tool: string;
  readonly inputHash: string;
  readonly summary: string;
  readonly requestedBy: Actor;
  readonly requestedAt: number;
  /** The seq of `approval.requested`. */
  readonly seq: number;
  /** The earlier call that this one would repeat. */
  readonly repeats?: EarlierCall | undefined;
  /** The tree of files in which the agent's `prepare` command would run. The answer is about that command. */
  readonly prepares?: string | undefined;
  /** What brought data from outside into the context that the call was asked for in. */
  readonly taintedBy?: Taint | undefined;
  readonly roles?: readonly string[] | undefined;
  readonly notRequester?: boolean | undefined;
  readonly expiresAt?: number | undefined;
  /** The answer. Absent while the approval is open. */
  readonly settled?: (Omit<PayloadOf<'approval.settled'>, 'approval'> & { readonly by: Actor }) | undefined;
}

export interface QuestionState extends Since {
  readonly tool: string;
  readonly question: string;
  readonly options?: readonly string[] | undefined;
  readonly answer?: string | undefined;
  readonly by?: Actor | undefined;
}

type ChildWait = Since & Pick<PayloadOf<'child.waiting'>, 'for' | 'reason'>;

/**
 * A child session that works for a call of this session. It stays in the fold until both the call and the child have
 * ended.
 */
export interface Child extends Since {
  readonly session: SessionId;
  /** Set while the child waits. The run that made the call waits too. */
  readonly waiting?: ChildWait | undefined;
  /** Set when the child has ended and its usage was charged. */
  readonly isEnded?: true;
  /** Set when the call has ended but the child has not: after a timeout, a cancel or the loss of the worker. */
  readonly isForsaken?: true;
}

/** The part of a session's fold that concerns its runs. */
export interface RunFold {
  readonly run?: ActiveRun | undefined;
  /** In the order in which they are answered, if they are due. */
  readonly queue: readonly QueuedInput[];
  /** Approvals of calls that have no result yet. */
  readonly approvals: Readonly<Record<ApprovalId, ApprovalState>>;
  readonly questions: Readonly<Record<string, QuestionState>>;
  /** Child sessions, by call id. */
  readonly children: Readonly<Record<string, Child>>;
  readonly limits: Limits;
  readonly spent: Spent;
  /** What the newest model reported about the size of its requests. */
  readonly calibration?: Calibration | undefined;
  /** The values that tools keep between their calls, by tool. */
  readonly kept: Readonly<Record<string, Json>>;
}

/** Whether every running call waits for its child. */
export const waitsForChildren = ({ children }: RunFold, running: Readonly<Record<string, unknown>>): boolean =>
  Object.keys(running).every((callId) => children[callId]?.waiting);

/** The children whose calls have ended, but which have not ended themselves. */
export const forsakenChildren = ({ children }: RunFold): readonly (readonly [callId: string, Child])[] =>
  Object.entries(children).filter(([, { isForsaken }]) => isForsaken);

export const noRuns: RunFold = {
  queue: [],
  approvals: {},
  questions: {},
  children: {},
  limits: {},
  spent: { turns: 0, tokens: 0, usd: 0, unpriced: 0, activeMs: 0 },
  kept: {},
};

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0 };

const optionalSum = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);

export const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cachedTokens: optionalSum(a.cachedTokens, b.cachedTokens),
  reasoningTokens: optionalSum(a.reasoningTokens, b.reasoningTokens),
  usd: optionalSum(a.usd, b.usd),
});

/** The usage that an event reports. */
export const usageTold = (event: SessionEvent): Usage => {
  switch (event.type) {
    case 'model.completed':
    case 'model.failed':
    case 'child.ended':
    case 'message.abandoned':
      return event.payload.usage ?? noUsage;
    default:
      return noUsage;
  }
};

const withoutKey = <Value>(record: Readonly<Record<string, Value>>, key: string): Readonly<Record<string, Value>> => {
  if (!Object.hasOwn(record, key)) return record;
  const others = copyRecord(record);
  delete others[key];
  return others;
};

/** Changes the active run, if there is one. */
const onRun = (before: RunFold, change: (run: ActiveRun) => ActiveRun): RunFold =>
  before.run ? { ...before, run: change(before.run) } : before;

/**
 * Makes a run that waits for its budget or a quota ready again. The worker that claims it checks whether the new one is
 * enough.
 */
const lookAgain = (before: RunFold, what: 'budget' | 'quota'): RunFold =>
  onRun(before, (run) => (run.waitingFor === what ? { ...run, waitingFor: undefined } : run));

const withoutAgent = (before: RunFold, run: RunId | undefined): RunFold => ({
  ...before,
  queue: before.queue.map((input) => (input.run === run ? { ...input, lacksAgent: true } : input)),
});

const atWork = (at: number) => ({
  asked: undefined,
  waitingFor: undefined,
  wait: undefined,
  waitsUntil: undefined,
  waitsIn: undefined,
  activeSince: at,
});

const begin = (before: RunFold, event: SessionEvent<'run.started'>): RunFold => {
  const { attempt } = event.payload;
  if (attempt > 1) {
    const stopped = stopClockOfDead(lookAtChildren(before));
    return onRun(stopped, (run) => ({
      ...run,
      attempt,
      ...atWork(event.at),
    }));
  }
  const input = before.queue.find(({ run }) => run === event.run);
  const run: ActiveRun = {
    id: event.run!,
    turn: event.turn,
    attempt,
    requestedBy: input?.by ?? event.actor,
    from: input?.from,
    steps: 0,
    failures: 0,
    overflowed: false,
    trials: noTrials,
    repairs: 0,
    activeSince: event.at,
    workedAt: event.at,
    windowCorrection: before.calibration ? windowCorrection(before.calibration, before.calibration.model) : 1,
  };
  const spent = { ...before.spent, turns: before.spent.turns + 1 };
  return { ...before, run, spent, queue: before.queue.filter((each) => each !== input) };
};

const spend = ({ spent }: RunFold, usage: Usage): Spent => ({
  ...spent,
  tokens: spent.tokens + usage.inputTokens + usage.outputTokens,
  usd: spent.usd + (usage.usd ?? 0),
  unpriced: spent.unpriced + (usage.usd === undefined ? 1 : 0),
});

/** The calibration after an answer. Providers that report no input tokens do not change it. */
const calibrated = (
  { run, calibration }: RunFold,
  { model, usage }: PayloadOf<'model.completed'>,
): Calibration | undefined => {
  const estimated = run?.asked?.estimated ?? 0;
  return estimated > 0 && usage.inputTokens > 0
    ? calibrate(calibration, { model, estimated, reported: usage.inputTokens })
    : calibration;
};

const complete = (before: RunFold, payload: PayloadOf<'model.completed'>): RunFold => {
  const calibration = calibrated(before, payload);
  const answered = onRun(before, (run) => ({
    ...run,
    steps: run.steps + 1,
    failures: 0,
    overflowed: false,
    trials: afterAnswer(run.trials, payload.model),
    asked: undefined,
    failure: failureOfAnswer(payload.finish, run.asked?.budgeted),
    windowCorrection: Math.max(run.windowCorrection, windowCorrection(calibration, payload.model)),
  }));
  return { ...answered, calibration, spent: spend(before, payload.usage) };
};

const fail = (before: RunFold, { payload, at }: SessionEvent<'model.failed'>): RunFold => {
  const { usage, retryInMs } = payload;
  const failed = onRun(before, (run) => ({
    ...run,
    failures: run.failures + 1,
    // Another model has not seen the context yet.
    overflowed: isCompacted(payload) || (run.overflowed && retryInMs !== undefined),
    trials: afterFailure(run.trials, payload, at),
    failure: failureAfter(payload),
    asked: undefined,
  }));
  return usage ? { ...failed, spent: spend(before, usage) } : failed;
};

const progress = (before: RunFold, { message }: PayloadOf<'message.progressed'>): RunFold => {
  const asked = before.run?.asked;
  if (asked?.message !== message || asked.hasPieces) return before;
  return onRun(before, (run) => ({ ...run, asked: { ...asked, hasPieces: true } }));
};

const breakOff = (before: RunFold, payload: PayloadOf<'message.abandoned'>): RunFold => {
  const { message, usage } = payload;
  const isAsked = before.run?.asked?.message === message;
  const broken = isAsked ? onRun(before, (run) => ({ ...run, asked: undefined })) : before;
  if (!usage) return broken;
  const spent = spend(before, usage);
  return { ...broken, spent: isRestOfCall(payload) ? { ...spent, unpriced: before.spent.unpriced } : spent };
};

const withChild = (before: RunFold, callId: string, waiting: ChildWait | undefined): RunFold => {
  const child = before.children[callId];
  return child ? { ...before, children: { ...before.children, [callId]: { ...child, waiting } } } : before;
};

/**
 * Clears the waits of all children, so that the worker that claims the run checks them again. The previous worker may
 * have died before it recorded the newest status of a child.
 */
const lookAtChildren = (before: RunFold): RunFold =>
  Object.keys(before.children).reduce((fold, callId) => withChild(fold, callId, undefined), before);

/** Marks that either the call or its child has ended. Removes the child once both have ended. */
const over = (children: RunFold['children'], callId: string, what: 'isEnded' | 'isForsaken'): RunFold['children'] => {
  const child = children[callId];
  if (!child) return children;
  return child.isEnded || child.isForsaken
    ? withoutKey(children, callId)
    : { ...children, [callId]: { ...child, [what]: true } };
};

/** Removes the approvals and the question of a call that has its result. */
const settleCall = (before: RunFold, callId: string): RunFold => ({
  ...before,
  approvals: Object.fromEntries(Object.entries(before.approvals).filter(([, each]) => each.callId !== callId)),
  questions: withoutKey(before.questions, callId),
  children: over(before.children, callId, 'isForsaken'),
});

const endChild = (before: RunFold, { callId, usage }: PayloadOf<'child.ended'>): RunFold =>
  before.children[callId]
    ? { ...before, spent: spend(before, usage), children: over(before.children, callId, 'isEnded') }
    : before;

/** Requests an approval. One from a bundle is void, because it may not be what the call asks for here. */
const request = (before: RunFold, event: SessionEvent<'approval.requested'>): RunFold => {
  if (event.imported) return before;
  const { payload, at, seq } = event;
  const { approval, ...about } = payload;
  const open = { id: approval, ...about, requestedAt: at, seq };
  return { ...before, approvals: { ...before.approvals, [approval]: open } };
};

const settle = (before: RunFold, { payload, actor }: SessionEvent<'approval.settled'>): RunFold => {
  const { approval, ...settled } = payload;
  const open = before.approvals[approval];
  if (!open) return before;
  return { ...before, approvals: { ...before.approvals, [approval]: { ...open, settled: { ...settled, by: actor } } } };
};

const answer = (before: RunFold, { payload, actor }: SessionEvent<'question.answered'>): RunFold => {
  const asked = before.questions[payload.callId];
  if (!asked) return before;
  const answered = { ...asked, answer: payload.answer, by: actor };
  return { ...before, questions: { ...before.questions, [payload.callId]: answered } };
};

/** Queues an input. One that interrupts is answered before all that wait already. */
const admit = (before: RunFold, input: QueuedInput): RunFold => ({
  ...before,
  queue: input.policy === 'interrupt' ? [input, ...before.queue] : [...before.queue, input],
});

const join = (before: RunFold, input: QueuedInput): RunFold => ({
  ...before,
  queue: before.queue.filter((each) => each !== input),
});

/**
 * Whether the message asks the model to repair its output. After a model answer, only the runtime and steering inputs
 * add user messages.
 */
const isRepair = ({ run }: RunFold, { run: of, actor, payload }: SessionEvent<'message.appended'>): boolean =>
  run !== undefined &&
  run.id === of &&
  run.steps > 0 &&
  actor === systemActor &&
  payload.message.role === 'user' &&
  payload.handoff === undefined;

const withStop = (after: RunFold, event: SessionEvent): RunFold => {
  const stop = after.run && stopAfter(after.run, event);
  return stop === after.run?.stop ? after : onRun(after, (run) => ({ ...run, stop }));
};

/** Marks the input of a cancelled run that has not begun. */
const cancelQueued = (before: RunFold, run: RunId | undefined, cancelledBy: Actor): RunFold => {
  if (!before.queue.some((input) => input.run === run)) return before;
  return { ...before, queue: before.queue.map((input) => (input.run === run ? { ...input, cancelledBy } : input)) };
};

/** Applies one event to the runs of a session. */
export const foldRuns = (before: RunFold, event: SessionEvent): RunFold =>
  withSignOfLife(withStop(foldRun(before, event), event), event);

const foldRun = (before: RunFold, event: SessionEvent): RunFold => {
  switch (event.type) {
    case 'session.forked':
      return { ...before, run: undefined, queue: [], approvals: {}, questions: {}, children: {} };
    case 'session.rewound':
      return { ...before, approvals: {}, questions: {} };
    case 'session.paused':
    case 'session.closed':
      return stopClockAt(before, event);
    case 'session.handed':
      return event.payload.to === 'human' ? stopClock(before, event.at) : before;
    case 'cancel.requested':
      return cancelQueued(before, event.run, event.actor);
    case 'input.admitted':
      return admit(before, { ...event.payload, seq: event.seq, at: event.at, by: event.actor });
    case 'message.appended': {
      const joined = before.queue.find(({ message }) => message.id === event.payload.message.id);
      if (joined) return join(before, joined);
      return isRepair(before, event) ? onRun(before, (run) => ({ ...run, repairs: run.repairs + 1 })) : before;
    }
    case 'run.started':
      return begin(before, event);
    case 'run.resumed':
      return onRun(lookAtChildren(before), (run) => ({ ...run, ...atWork(event.at) }));
    case 'run.waiting':
      if (before.run?.id !== event.run) return withoutAgent(before, event.run);
      return onRun(stopClock(before, event.at), (run) => ({
        ...run,
        // The approvals of an imported run are void, so the worker that continues it requests them again.
        waitingFor: event.imported && event.payload.for === 'approval' ? undefined : event.payload.for,
        wait: { seq: event.seq, at: event.at, reason: event.payload.reason },
        waitsUntil: event.payload.until,
        waitsIn: event.payload.session,
      }));
    case 'run.ended': {
      const isQueued = before.queue.some(({ run }) => run === event.run);
      if (isQueued) return { ...before, queue: before.queue.filter(({ run }) => run !== event.run) };
      const stopped = stopClockAt(before, event);
      return { ...stopped, run: undefined, approvals: {}, questions: {} };
    }
    case 'model.called':
      return onRun(before, (run) => ({
        ...run,
        asked: {
          message: event.payload.message,
          tokens: event.payload.reservedTokens,
          estimated: event.payload.estimatedTokens,
          budgeted: event.payload.budgetedOutputTokens,
          seq: event.seq,
        },
        failure: undefined,
      }));
    case 'message.progressed':
      return progress(before, event.payload);
    case 'message.abandoned':
      return breakOff(before, event.payload);
    case 'model.completed':
      return complete(before, event.payload);
    case 'model.failed':
      return fail(before, event);
    case 'approval.requested':
      return request(before, event);
    case 'approval.settled':
      return settle(before, event);
    case 'question.asked': {
      const { callId, ...asked } = event.payload;
      const open = { ...asked, seq: event.seq, at: event.at };
      return { ...before, questions: { ...before.questions, [callId]: open } };
    }
    case 'question.answered':
      return answer(before, event);
    case 'tool.completed': {
      const { tool, callId, keeps } = event.payload;
      const settled = settleCall(before, callId);
      return keeps === undefined ? settled : { ...settled, kept: { ...settled.kept, [tool]: keeps } };
    }
    case 'tool.failed':
      return settleCall(before, event.payload.callId);
    case 'child.opened': {
      const { callId, session } = event.payload;
      const child = { session, seq: event.seq, at: event.at };
      return { ...before, children: { ...before.children, [callId]: child } };
    }
    case 'child.waiting': {
      const { callId, for: what, reason } = event.payload;
      return stopClock(withChild(before, callId, { for: what, reason, seq: event.seq, at: event.at }), event.at);
    }
    case 'child.resumed':
      return onRun(withChild(before, event.payload.callId, undefined), (run) =>
        run.waitingFor ? run : { ...run, activeSince: event.at },
      );
    case 'child.ended':
      return endChild(before, event.payload);
    case 'budget.set':
      return lookAgain({ ...before, limits: event.payload.limits }, 'budget');
    case 'quota.changed':
      return lookAgain(before, 'quota');
    default:
      return before;
  }
};
