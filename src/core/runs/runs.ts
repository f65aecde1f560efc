import type { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { followRun, isOfRun, newlyFollowed } from '../../schema/follow-run.ts';
import type { RunId, SessionId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
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
import { endAtOnce } from '../engine/end-at-once.ts';
import { Following, readEvents } from '../engine/events.ts';
import { refuseBeyond } from '../engine/points.ts';
import type { Scope } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { parseInput } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { addUsage, noUsage, usageTold } from '../session/runs/run-fold.ts';
import type { AdmittedRun } from './admitted-run.ts';
import { cancelRun } from './cancel.ts';
import { streamRun } from './stream-run.ts';
import { warnWhileUntaken } from './warn-untaken.ts';

/** One execution of a turn. The handle holds nothing: the run goes on without it. */
export interface Run<Output = unknown> {
  readonly id: RunId;
  readonly session: SessionId;
  /** How it stands now, without waiting. One that no worker has taken on yet counts as running. */
  status(): Promise<RunResult<Output> | RunUnderWay>;
  /** Waits until it has ended, waits for somebody or is paused, and tells the outcome. A `signal` ends the wait. */
  result(options?: z.input<typeof Waiting>): Promise<RunResult<Output>>;
  /** Waits until it has ended, however long it waits for people in between, and tells the outcome. */
  waitForEnd(options?: z.input<typeof Waiting>): Promise<EndedRun<Output>>;
  /**
   * What it shows, part by part, until it ends: pieces of the answer as it is written, calls, results, what is asked of people, and the end
   * with the result. It goes on across takeovers. `after` goes on behind the event of a part. A run that has ended is told once more.
   */
  stream(options?: z.input<typeof Following>): AsyncGenerator<RunPart<Output>, void, void>;
  /** Its events from the admission on, as they come, until it ends. `after` goes on from a seq. */
  events(options?: z.input<typeof Following>): AsyncGenerator<SessionEvent, void, void>;
  /** Ends it at once, whoever is at work on it. */
  cancel(): Promise<void>;
}

const Waiting = Following.omit({ after: true });

/** An output that the log holds is JSON. */
type Standing = RunResult<Json> | RunUnderWay;

/** How a run stands now, and again after everything that happens. Its end is the last. */
export async function* runStandings(
  scope: Scope,
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

export const runHandle = (scope: Scope, key: SessionKey, run: AdmittedRun): Run<Json> => {
  const { id, admittedAt } = run;
  /** Read from the admission on, wherever its reader is: that tells where the input went, and whether the run is over. */
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
    const stopWarning = warnWhileUntaken(scope, key, id);
    try {
      for await (const standing of runStandings(scope, key, run, signal)) if (isWanted(standing)) return standing;
    } finally {
      stopWarning();
    }
    throw new PerdureError('RUNTIME_CLOSED', 'the runtime was closed, or the wait was ended: the run goes on');
  };
  return scope.give<Run<Json>>('run', {
    id,
    session: key.session,
    events: (options = {}) => {
      const { after = 0, signal } = parseInput('the query', Following, options);
      return endAtOnce(signal, (ending) => eventsAfter(after, ending));
    },
    stream: (options = {}) => {
      const { after = 0, signal } = parseInput('the query', Following, options);
      return endAtOnce(signal, (ending) => streamRun(scope, key, run, after, ending));
    },
    status: async () => {
      for await (const standing of runStandings(scope, key, run)) return standing;
      throw new PerdureError('RUNTIME_CLOSED', 'the runtime was closed: the run goes on');
    },
    result: (options) => until(isAtRest, options),
    waitForEnd: (options) => until(hasEnded, options),
    cancel: async () => {
      await cancelRun(scope, key, id);
    },
  });
};

/** Why a run is at rest although it has not ended. */
type Rest = Omit<WaitingRun, 'run' | 'usage'> | Omit<PausedRun, 'run' | 'usage'>;

const waitsFor = (rest: Rest | undefined, reason: WaitingRun['waitingFor']): boolean =>
  rest?.status === 'waiting' && rest.waitingFor === reason;

/** What the run waits for after the event; nothing once it has come, whoever goes on with it. */
const waitAfter = (before: Rest | undefined, event: SessionEvent, run: RunId): Rest | undefined => {
  switch (event.type) {
    case 'run.waiting':
    case 'child.waiting': {
      if (event.run !== run) return before;
      const { for: waitingFor, reason } = event.payload;
      if (waitingFor === 'model') return undefined; // goes on by itself
      return { status: 'waiting', waitingFor, reason, waitsIn: event.payload.session };
    }
    case 'run.started':
    case 'run.resumed':
    case 'child.resumed':
    case 'approval.settled':
    case 'question.answered':
      return undefined;
    case 'budget.set':
      return waitsFor(before, 'budget') ? undefined : before;
    case 'session.handed':
      return waitsFor(before, 'human') ? undefined : before;
    default:
      return before;
  }
};

/** Whether the session lets its runs go on. */
const holdAfter = (before: Rest | undefined, event: SessionEvent): Rest | undefined => {
  switch (event.type) {
    case 'session.paused':
      return { status: 'paused' };
    case 'session.resumed':
      return undefined;
    case 'session.handed':
      return event.payload.to === 'human' ? { status: 'waiting', waitingFor: 'human' } : undefined;
    default:
      return before;
  }
};

const holdOf = ({ status, holder }: SessionFold): Rest | undefined => {
  if (status === 'paused') return { status };
  return holder === 'human' ? { status: 'waiting', waitingFor: 'human' } : undefined;
};
