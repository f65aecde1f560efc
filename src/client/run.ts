import { abortableGenerator } from '../concurrency/abortable-generator.ts';
import type { Run } from '../core/runs/runs.ts';
import { PerdureError } from '../schema/error.ts';
import type { SessionEvent } from '../schema/event.ts';
import type { RunId, SessionId } from '../schema/ids.ts';
import type { Json } from '../schema/json.ts';
import { hasEnded, isAtRest, type RunResult, type RunUnderWay } from '../schema/run-result.ts';
import { path } from './address.ts';
import { eventIn, followEvents } from './events.ts';
import { follow } from './follow.ts';
import { freshKey, type Transport } from './transport.ts';

type Standing = RunResult<Json> | RunUnderWay;

/** Whether this event may change the standing of a run. */
const mayChange = ({ type }: SessionEvent): boolean => /^(?:run|child|session)\./.test(type);

async function* eventsOfRun(
  transport: Transport,
  at: string,
  after: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<SessionEvent, void, void> {
  for await (const frame of follow(transport, `${at}/events`, { query: { after }, signal })) {
    if (frame.event === 'end') return;
    const event = eventIn(frame);
    if (event) yield event;
  }
}

export const runAfar = (transport: Transport, session: SessionId, id: RunId): Run<Json> => {
  const inSession = path`/v1/sessions/${session}`;
  const at = path`/v1/sessions/${session}/runs/${id}`;
  const look = (signal?: AbortSignal): Promise<Standing> =>
    transport.json<Standing>(at, { isPatient: signal !== undefined, signal });

  /** Reads the run again after every event that may have changed it. */
  const waitUntil = async <Wanted extends Standing>(
    isWanted: (standing: Standing) => standing is Wanted,
    given?: AbortSignal,
  ): Promise<Wanted> => {
    const signal = given ?? new AbortController().signal;
    try {
      const { seq } = await transport.json<{ readonly seq: number }>(inSession, { isPatient: true, signal });
      const now = await look(signal);
      if (isWanted(now)) return now;
      for await (const event of followEvents(transport, inSession, { after: seq, signal })) {
        const then = mayChange(event) ? await look(signal) : now;
        if (isWanted(then)) return then;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    throw new PerdureError('RUNTIME_CLOSED', 'the wait was aborted; the run continues');
  };
  return {
    id,
    session,
    events: ({ after, signal } = {}) =>
      abortableGenerator(signal, (ending) => eventsOfRun(transport, at, after, ending)),
    status: () => look(),
    result: ({ signal } = {}) => waitUntil(isAtRest, signal),
    waitForEnd: ({ signal } = {}) => waitUntil(hasEnded, signal),
    cancel: () => transport.done(`${at}/cancel`, { method: 'POST', body: {}, idempotencyKey: freshKey() }),
  };
};
