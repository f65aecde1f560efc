import type { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { MessageId, RunId, SessionId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { leavesRunsBehind, type RunStatus, runEnds, type Usage, type WaitReason } from '../../schema/run.ts';
import type { SessionKey } from '../ports/store.ts';
import { parseInput } from '../session/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { addUsage, noUsage, usageTold } from '../session/run-fold.ts';
import { cancelRun } from './cancel.ts';
import { endAtOnce } from './end-at-once.ts';
import { Following, readEvents } from './events.ts';
import type { Scope } from './scope.ts';

/** A run that is at work, or is to be. */
export interface RunUnderWay {
  readonly run: RunId;
  readonly status: 'running';
  readonly usage: Usage;
}

export interface RunResult {
  readonly run: RunId;
  readonly status: Extract<RunStatus, 'waiting' | 'paused' | 'succeeded' | 'failed' | 'cancelled'>;
  /** Text, or the value that the agent's output schema gives. */
  readonly output?: Json | undefined;
  /** Of one that failed. The code is a RunFailureCode or an ErrorCode, or that of another release. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly waitingFor?: WaitReason | undefined;
  /** Why it waits, for people. */
  readonly reason?: string | undefined;
  /** The session of a subagent that waits, when it is not this one. */
  readonly waitsIn?: SessionId | undefined;
  readonly usage: Usage;
}

/** One execution of a turn. The handle holds nothing: the run goes on without it. */
export interface Run {
  readonly id: RunId;
  readonly session: SessionId;
  /** Its events from the admission on, as they come, until it ends; `after` a seq to go on from there. */
  events(options?: z.input<typeof Following>): AsyncGenerator<SessionEvent, void, void>;
  /** How it stands now. */
  standing(): Promise<RunResult | RunUnderWay>;
  /** When it has ended, or waits for somebody, or was paused. */
  result(options?: z.input<typeof Waiting>): Promise<RunResult>;
  /** When it has ended, however long it waits before. */
  ended(options?: z.input<typeof Waiting>): Promise<RunResult>;
  cancel(): Promise<void>;
}

const Waiting = Following.omit({ after: true });

/** Where an input that joined another run went. */
const joinedRun = (event: SessionEvent, message: MessageId | undefined, id: RunId): RunId | undefined =>
  event.type === 'message.appended' && event.payload.message.id === message && event.run !== id ? event.run : undefined;

const ends: ReadonlySet<string> = new Set(runEnds);
export const hasEnded = ({ status }: RunResult | RunUnderWay): boolean => ends.has(status);

/** How a run stands now, and again after everything that happens. Its end is the last. */
export async function* runStandings(
  scope: Scope,
  key: SessionKey,
  of: { readonly id: RunId; readonly admittedAt: number; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<RunResult | RunUnderWay, void, void> {
  const { id, admittedAt, signal } = of;
  const head = await scope.folds.head(key);
  let run = id;
  let message: MessageId | undefined;
  let usage = noUsage;
  let wait: Rest | undefined;
  let hold = holdOf(head);
  for await (const event of readEvents(scope, key, { after: admittedAt - 1, follow: true, signal })) {
    if (event.type === 'input.admitted' && event.payload.run === id) message = event.payload.message.id;
    run = joinedRun(event, message, run) ?? run;
    if (event.run === run) usage = addUsage(usage, usageTold(event));
    if (event.run === run && event.type === 'run.ended') return void (yield { run: id, usage, ...event.payload });
    if (leavesRunsBehind(event)) return void (yield { run: id, usage, status: 'cancelled' });
    wait = waitAfter(wait, event, run);
    if (event.seq > head.seq) hold = holdAfter(hold, event);
    const rest = hold ?? wait;
    if (event.seq >= head.seq) yield { ...(rest ?? { status: 'running' }), run: id, usage };
  }
}

export const runHandle = (scope: Scope, key: SessionKey, id: RunId, admittedAt: number): Run => {
  async function* eventsAfter(after: number, signal: AbortSignal): AsyncGenerator<SessionEvent, void, void> {
    let run = id;
    let message: MessageId | undefined;
    for await (const event of readEvents(scope, key, { after, follow: true, signal })) {
      if (event.type === 'input.admitted' && event.payload.run === id) message = event.payload.message.id;
      run = joinedRun(event, message, run) ?? run;
      if (event.run === run || event.run === id || isOfSession(event)) yield event;
      if ((event.run === run && event.type === 'run.ended') || leavesRunsBehind(event)) return;
    }
  }
  const outcome = async (mayRest: boolean, options: z.input<typeof Waiting> = {}): Promise<RunResult> => {
    const { signal } = parseInput('the query', Waiting, options);
    for await (const standing of runStandings(scope, key, { id, admittedAt, signal })) {
      if (standing.status !== 'running' && (mayRest || hasEnded(standing))) return standing;
    }
    throw new PerdureError('RUNTIME_CLOSED', 'the runtime was closed, or the wait was ended: the run goes on');
  };
  return scope.give<Run>('run', {
    id,
    session: key.session,
    events: (options = {}) => {
      const { after = 0, signal } = parseInput('the query', Following, options);
      return endAtOnce(signal, (ending) => eventsAfter(Math.max(after, admittedAt - 1), ending));
    },
    standing: async () => {
      for await (const standing of runStandings(scope, key, { id, admittedAt })) return standing;
      throw new PerdureError('RUNTIME_CLOSED', 'the runtime was closed: the run goes on');
    },
    result: (options) => outcome(true, options),
    ended: (options) => outcome(false, options),
    cancel: async () => {
      await cancelRun(scope, key, id);
    },
  });
};

const isOfSession = ({ type }: SessionEvent): boolean => type.startsWith('session.');

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
