import type { z } from 'zod';
import { abortableGenerator } from '../../concurrency/abortable-generator.ts';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { followRun, isOfRun, newlyFollowed } from '../../schema/follow-run.ts';
import type { RunId, SessionId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { RunPart } from '../../schema/run-part.ts';
import {
  type EndedRun,
  hasEnded,
  isAtRest,
  type PausedRun,
  type RunResult,
  type RunUnderWay,
  type WaitingRun,
} from '../../schema/run-result.ts';
import { Following, readEvents } from '../engine/events.ts';
import { refuseBeyond } from '../engine/points.ts';
import type { FollowAccess, HandleAccess, SightAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { addUsage, noUsage, usageTold } from '../session/runs/run-fold.ts';
import type { AdmittedRun } from './admitted-run.ts';
import { cancelRun } from './cancel.ts';
import { type StreamAccess, streamRun } from './stream-run.ts';
import { warnWhileUnclaimed } from './unclaimed-run-warning.ts';

/** One execution of a turn. The handle holds no resource, and the run continues without it. */
export interface Run<Output = unknown> {
  readonly id: RunId;
  readonly session: SessionId;
  /** The current status, without waiting. A run that no worker has claimed yet is reported as running. */
  status(): Promise<RunResult<Output> | RunUnderWay>;
  /**
   * Waits until the run ends, waits for someone, or is paused. Returns the outcome. Aborting `signal` ends the wait.
   */
  result(options?: z.input<typeof Waiting>): Promise<RunResult<Output>>;
  /** Waits until the run ends, also while the run waits for people in between. Returns the outcome. */
  waitForEnd(options?: z.input<typeof Waiting>): Promise<EndedRun<Output>>;
  /**
   * Yields the parts of the run until it ends: pieces of the answer while the model writes it, calls, results,
   * requests to people, and finally the result. The stream continues when another worker takes over. `after` is the
   * seq of a part, and the stream continues after that event. For a run that has ended, the stream replays the parts.
   */
  stream(options?: z.input<typeof Following>): AsyncGenerator<RunPart<Output>, void, void>;
  /**
   * Yields the events of the run from its admission on, when they are appended, until the run ends. `after` continues
   * after a seq.
   */
  events(options?: z.input<typeof Following>): AsyncGenerator<SessionEvent, void, void>;
  /** Cancels the run immediately, also while a worker executes it. */
  cancel(): Promise<void>;
}

const Waiting = Following.omit({ after: true });

/** The status of a run. Outputs are JSON here, because they are read from the log. */
type Standing = RunResult<Json> | RunUnderWay;

/** Yields the status of a run now and after every further event. The last value is the end of the run. */
export async function* runStandings(
  scope: FollowAccess,
  key: SessionKey,
  { id, admittedAt }: AdmittedRun,
  signal?: AbortSignal,
): AsyncGenerator<Standing, void, void> {
  const head = await scope.folds.outline(key);
  let followed = newlyFollowed(id);
  let usage = noUsage;
  let wait: Rest | undefined;
  let hold = holdOf(head);
  for await (const event of readEvents(scope, key, { after: admittedAt - 1, follow: true, signal })) {
    followed = followRun(followed, event);
    const { answeredBy, end } = followed;
    if (event.run === answeredBy) usage = addUsage(usage, usageTold(event));
    if (end) return void (yield { run: id, usage, ...end });
    wait = waitAfter(wait, event, answeredBy);
    if (event.seq > head.seq) hold = holdAfter(hold, event);
    const rest = hold ?? wait;
    if (event.seq >= head.seq) yield { ...(rest ?? { status: 'running' }), run: id, usage };
  }
}

export type RunHandleAccess = StreamAccess & HandleAccess & Pick<SightAccess, 'whole'>;

export const runHandle = (scope: RunHandleAccess, key: SessionKey, run: AdmittedRun): Run<Json> => {
  const { id, admittedAt } = run;
  /**
   * Yields the events after `after`, but reads the log from the admission on. Only the earlier events show which run
   * answers the input, and whether that run has ended.
   */
  async function* eventsAfter(after: number, signal: AbortSignal): AsyncGenerator<SessionEvent, void, void> {
    if (after >= admittedAt) refuseBeyond(key, after, await scope.folds.outline(key));
    let followed = newlyFollowed(id);
    for await (const event of readEvents(scope, key, { after: admittedAt - 1, follow: true, signal })) {
      followed = followRun(followed, event);
      if (event.seq > after && isOfRun(followed, event)) yield event;
      if (followed.end) return;
    }
  }
  const until = async <Wanted extends Standing>(
    isWanted: (standing: Standing) => standing is Wanted,
    options: z.input<typeof Waiting> = {},
  ): Promise<Wanted> => {
    const { signal } = parseInput('the query', Waiting, options);
    scope.needWorker(key);
    const stopWarning = warnWhileUnclaimed(scope, key, id);
    try {
      for await (const standing of runStandings(scope, key, run, signal)) if (isWanted(standing)) return standing;
    } finally {
      stopWarning();
    }
    throw new PerdureError('RUNTIME_CLOSED', 'the runtime was closed, or the wait was aborted: the run continues');
  };
  return scope.give<Run<Json>>('run', {
    id,
    session: key.session,
    events: (options = {}) => {
      const { after = 0, signal } = parseInput('the query', Following, options);
      return abortableGenerator(signal, (ending) => eventsAfter(after, ending));
    },
    stream: (options = {}) => {
      const { after = 0, signal } = parseInput('the query', Following, options);
      return abortableGenerator(signal, (ending) => streamRun(scope, key, run, after, ending));
    },
    status: async () => {
      for await (const standing of runStandings(scope, key, run)) return standing;
      throw new PerdureError('RUNTIME_CLOSED', 'the runtime was closed: the run continues');
    },
    result: (options) => until(isAtRest, options),
    waitForEnd: (options) => until(hasEnded, options),
    cancel: async () => {
      await cancelRun(scope, key, id);
    },
  });
};

/** Why a run that has not ended makes no progress. */
type Rest = WithoutRun<WaitingRun> | WithoutRun<PausedRun> | WithoutRun<RunUnderWay>;
type WithoutRun<Result> = Omit<Result, 'run' | 'usage'>;

const waitsFor = (rest: Rest | undefined, reason: WaitingRun['waitingFor']): boolean =>
  rest?.status === 'waiting' && rest.waitingFor === reason;

/** Returns the run's wait after the event. Returns undefined if the run can continue. */
const waitAfter = (before: Rest | undefined, event: SessionEvent, run: RunId): Rest | undefined => {
  switch (event.type) {
    case 'run.waiting':
    case 'child.waiting': {
      if (event.run !== run) return before;
      const { for: waitingFor, reason, session: waitsIn } = event.payload;
      if (waitingFor !== 'model') return { status: 'waiting', waitingFor, reason, waitsIn };
      const until = event.type === 'run.waiting' ? event.payload.until : undefined;
      return { status: 'running', waitingFor, reason, until }; // continues by itself
    }
    case 'run.started':
    case 'run.resumed':
    case 'child.resumed':
    case 'approval.settled':
    case 'question.answered':
      return undefined;
    case 'budget.set':
      return waitsFor(before, 'budget') ? undefined : before;
    case 'quota.changed':
      return waitsFor(before, 'quota') ? undefined : before;
    case 'session.handed':
      return waitsFor(before, 'human') ? undefined : before;
    default:
      return before;
  }
};

const heldBecause = (reason: string | undefined): Rest => ({
  status: 'waiting',
  waitingFor: 'human',
  ...(reason !== undefined && { reason }),
});

/** Returns why the session prevents its runs from continuing after the event. Returns undefined if it does not. */
const holdAfter = (before: Rest | undefined, event: SessionEvent): Rest | undefined => {
  switch (event.type) {
    case 'session.paused':
      return { status: 'paused' };
    case 'session.resumed':
      return undefined;
    case 'session.handed':
      return event.payload.to === 'human' ? heldBecause(event.payload.reason) : undefined;
    default:
      return before;
  }
};

const holdOf = ({ status, holder, handoff }: SessionFold): Rest | undefined => {
  if (status === 'paused') return { status };
  return holder === 'human' ? heldBecause(handoff?.reason) : undefined;
};
