import type { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { MessageId, RunId, SessionId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { RunStatus, Usage, WaitReason } from '../../schema/run.ts';
import type { SessionKey } from '../ports/store.ts';
import { parseInput } from '../session/event-codec.ts';
import { addUsage, noUsage } from '../session/run-fold.ts';
import { cancelRun } from './cancel.ts';
import { endAtOnce } from './end-at-once.ts';
import { Following, readEvents } from './events.ts';
import type { Scope } from './scope.ts';

export interface RunResult {
  readonly run: RunId;
  readonly status: Extract<RunStatus, 'waiting' | 'paused' | 'succeeded' | 'failed' | 'cancelled'>;
  /** Text, or the value that the agent's output schema gives. */
  readonly output?: Json | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly waitingFor?: WaitReason | undefined;
  readonly usage: Usage;
}

/** One execution of a turn. The handle holds nothing: the run goes on without it. */
export interface Run {
  readonly id: RunId;
  readonly session: SessionId;
  /** Its events from the admission on, as they come, until it ends; `after` a seq to go on from there. */
  events(options?: z.input<typeof Following>): AsyncGenerator<SessionEvent, void, void>;
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

export const runHandle = (scope: Scope, key: SessionKey, id: RunId, admittedAt: number): Run => {
  async function* eventsAfter(after: number, signal: AbortSignal): AsyncGenerator<SessionEvent, void, void> {
    let run = id;
    let message: MessageId | undefined;
    for await (const event of readEvents(scope, key, { after, follow: true, signal })) {
      if (event.type === 'input.admitted' && event.payload.run === id) message = event.payload.message.id;
      run = joinedRun(event, message, run) ?? run;
      if (event.run === run || event.run === id || isOfSession(event)) yield event;
      if (event.run === run && event.type === 'run.ended') return;
    }
  }
  const outcome = async (mayRest: boolean, options: z.input<typeof Waiting> = {}): Promise<RunResult> => {
    const { signal } = parseInput('the query', Waiting, options);
    const { seq: now } = await scope.folds.head(key);
    let run = id;
    let message: MessageId | undefined;
    let usage = noUsage;
    let hasBegun = false;
    let rest: RunResult | undefined;
    for await (const event of readEvents(scope, key, { after: admittedAt - 1, follow: true, signal })) {
      if (event.type === 'input.admitted' && event.payload.run === id) message = event.payload.message.id;
      run = joinedRun(event, message, run) ?? run;
      if (event.run === run) usage = addUsage(usage, usageTold(event));
      if (event.run === run && event.type === 'run.ended') return { run: id, usage, ...event.payload };
      if (event.run === run && event.type === 'run.started') hasBegun = true;
      // A rewind leaves behind what nobody had begun with.
      if (event.type === 'session.rewound' && !hasBegun) return { run: id, usage, status: 'cancelled' };
      rest = restAfter(rest, event, run);
      if (mayRest && rest && event.seq >= now) return { ...rest, run: id, usage };
    }
    throw new PerdureError('RUNTIME_CLOSED', 'the runtime was closed, or the wait was ended: the run goes on');
  };
  return {
    id,
    session: key.session,
    events: (options = {}) => {
      const { after = admittedAt - 1, signal } = parseInput('the query', Following, options);
      return endAtOnce(signal, (ending) => eventsAfter(after, ending));
    },
    result: (options) => outcome(true, options),
    ended: (options) => outcome(false, options),
    cancel: async () => {
      await cancelRun(scope, key, id);
    },
  };
};

const usageTold = (event: SessionEvent): Usage => {
  switch (event.type) {
    case 'model.completed':
    case 'model.failed':
    case 'child.ended':
      return event.payload.usage ?? noUsage;
    default:
      return noUsage;
  }
};

const isOfSession = ({ type }: SessionEvent): boolean => type.startsWith('session.');

/** Where the run rests after the event: waiting or paused, until something takes it on again. */
const restAfter = (before: RunResult | undefined, event: SessionEvent, run: RunId): RunResult | undefined => {
  switch (event.type) {
    case 'run.waiting':
      return event.run === run ? { run, status: 'waiting', waitingFor: event.payload.for, usage: noUsage } : before;
    case 'session.paused':
      return { run, status: 'paused', usage: noUsage };
    case 'run.started':
    case 'run.resumed':
    case 'session.resumed':
      return undefined;
    default:
      return before;
  }
};
