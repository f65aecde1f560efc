import type { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { followRun, isOfRun, newlyFollowed } from '../../schema/follow-run.ts';
import type { RunId, SessionId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { type RunStatus, runEnds, type Usage, type WaitReason } from '../../schema/run.ts';
import { endAtOnce } from '../engine/end-at-once.ts';
import { Following, readEvents } from '../engine/events.ts';
import { refuseBeyond } from '../engine/points.ts';
import type { Scope } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { parseInput } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { addUsage, noUsage, usageTold } from '../session/runs/run-fold.ts';
import { cancelRun } from './cancel.ts';
import type { RunPart } from './run-part.ts';
import { streamRun } from './stream-run.ts';
import { warnWhileUntaken } from './warn-untaken.ts';

/** A run that is at work, or is to be. */
export interface RunUnderWay {
  readonly run: RunId;
  readonly status: 'running';
  readonly usage: Usage;
}

export interface RunResult {
  /** The id of the run. */
  readonly run: RunId;
  /** How it ended, or how it rests. */
  readonly status: Extract<RunStatus, 'waiting' | 'paused' | 'succeeded' | 'failed' | 'cancelled'>;
  /** Of one that succeeded: text, or the value that the agent's output schema gives. */
  readonly output?: Json | undefined;
  /** Of one that failed. The code is a RunFailureCode or an ErrorCode, or that of another release. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** Of one that waits: `approval`, `question`, `budget`, `human` (a person holds the session), or `agent` (no worker has its agent). */
  readonly waitingFor?: WaitReason | undefined;
  /** Why it waits, for people. */
  readonly reason?: string | undefined;
  /** The session of a subagent that waits, when it is not this one. */
  readonly waitsIn?: SessionId | undefined;
  /** The tokens that it used so far, and what they cost where the price is known. */
  readonly usage: Usage;
}

/** What leads to a run: its id, and the event that admitted it. */
export interface AdmittedRun {
  readonly id: RunId;
  readonly admittedAt: number;
}

/** One execution of a turn. The handle holds nothing: the run goes on without it. */
export interface Run {
  readonly id: RunId;
  readonly session: SessionId;
  /** How it stands now, without waiting. One that no worker has taken on yet counts as running. */
  status(): Promise<RunResult | RunUnderWay>;
  /** Waits until it has ended, waits for somebody or is paused, and tells the outcome. A `signal` ends the wait. */
  result(options?: z.input<typeof Waiting>): Promise<RunResult>;
  /** Waits until it has ended, however long it waits for people in between, and tells the outcome. */
  waitForEnd(options?: z.input<typeof Waiting>): Promise<RunResult>;
  /**
   * What it shows, part by part, until it ends: pieces of the answer as it is written, calls, results, what is asked of people, and the end
   * with the result. It goes on across takeovers. `after` goes on behind the event of a part. A run that has ended is told once more.
   */
  stream(options?: z.input<typeof Following>): AsyncGenerator<RunPart, void, void>;
  /** Its events from the admission on, as they come, until it ends. `after` goes on from a seq. */
  events(options?: z.input<typeof Following>): AsyncGenerator<SessionEvent, void, void>;
  /** Ends it at once, whoever is at work on it. */
  cancel(): Promise<void>;
}

const Waiting = Following.omit({ after: true });

const ends: ReadonlySet<string> = new Set(runEnds);
export const hasEnded = ({ status }: RunResult | RunUnderWay): boolean => ends.has(status);

/** How a run stands now, and again after everything that happens. Its end is the last. */
export async function* runStandings(
  scope: Scope,
  key: SessionKey,
  { id, admittedAt }: AdmittedRun,
  signal?: AbortSignal,
): AsyncGenerator<RunResult | RunUnderWay, void, void> {
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

export const runHandle = (scope: Scope, key: SessionKey, run: AdmittedRun): Run => {
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
  const outcome = async (mayRest: boolean, options: z.input<typeof Waiting> = {}): Promise<RunResult> => {
    const { signal } = parseInput('the query', Waiting, options);
    scope.needWorker(key);
    const stopWarning = warnWhileUntaken(scope, key, id);
    try {
      for await (const standing of runStandings(scope, key, run, signal)) {
        if (standing.status !== 'running' && (mayRest || hasEnded(standing))) return standing;
      }
    } finally {
      stopWarning();
    }
    throw new PerdureError('RUNTIME_CLOSED', 'the runtime was closed, or the wait was ended: the run goes on');
  };
  return scope.give<Run>('run', {
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
    result: (options) => outcome(true, options),
    waitForEnd: (options) => outcome(false, options),
    cancel: async () => {
      await cancelRun(scope, key, id);
    },
  });
};

type Rest = Omit<RunResult, 'run' | 'usage'>;

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
      return before?.waitingFor === 'budget' ? undefined : before;
    case 'session.handed':
      return before?.waitingFor === 'human' ? undefined : before;
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
