import { abortableGenerator } from '../concurrency/abortable-generator.ts';
import type { Run, RunResult, RunUnderWay } from '../core/runs/runs.ts';
import { PerdureError } from '../schema/error.ts';
import type { SessionEvent } from '../schema/event.ts';
import type { RunId, SessionId } from '../schema/ids.ts';
import { runEnds } from '../schema/run.ts';
import { path } from './address.ts';
import { eventIn, followEvents } from './events.ts';
import { follow } from './follow.ts';
import { freshKey, type Transport } from './transport.ts';

type Standing = RunResult | RunUnderWay;

/** After which a run may stand otherwise. */
const mayChange = ({ type }: SessionEvent): boolean => /^(?:run|child|session)\./.test(type);
const isEnd = ({ status }: Standing): boolean => runEnds.some((end) => end === status);

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

export const runAfar = (transport: Transport, session: SessionId, id: RunId): Run => {
  const inSession = path`/v1/sessions/${session}`;
  const at = path`/v1/sessions/${session}/runs/${id}`;
  const look = (signal?: AbortSignal): Promise<Standing> =>
    transport.json<Standing>(at, { isPatient: signal !== undefined, signal });

  /** Looked at again after whatever may have changed it. */
  const whenRested = async (isRest: (standing: Standing) => boolean, given?: AbortSignal): Promise<RunResult> => {
    const signal = given ?? new AbortController().signal;
    try {
      const { seq } = await transport.json<{ readonly seq: number }>(inSession, { isPatient: true, signal });
      const now = await look(signal);
      if (isRest(now)) return now as RunResult;
      for await (const event of followEvents(transport, inSession, { after: seq, signal })) {
        const then = mayChange(event) ? await look(signal) : now;
        if (isRest(then)) return then as RunResult;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    throw new PerdureError('RUNTIME_CLOSED', 'the wait was ended: the run goes on');
  };
  return {
    id,
    session,
    events: ({ after, signal } = {}) =>
      abortableGenerator(signal, (ending) => eventsOfRun(transport, at, after, ending)),
    standing: () => look(),
    result: ({ signal } = {}) => whenRested(({ status }) => status !== 'running', signal),
    ended: ({ signal } = {}) => whenRested(isEnd, signal),
    cancel: () => transport.done(`${at}/cancel`, { method: 'POST', body: {}, idempotencyKey: freshKey() }),
  };
};
