import { abortableGenerator } from '../concurrency/abortable-generator.ts';
import type { Run } from '../core/runs/runs.ts';
import { PerdureError } from '../schema/error.ts';
import type { SessionEvent } from '../schema/event.ts';
import type { RunId, SessionId } from '../schema/ids.ts';
import type { Json } from '../schema/json.ts';
import type { AnswerPiece, RunPart } from '../schema/run-part.ts';
import { hasEnded, isAtRest, type RunResult, type RunUnderWay } from '../schema/run-result.ts';
import { path } from './address.ts';
import { dataOf, eventIn, followEvents } from './events.ts';
import { follow } from './follow.ts';
import { freshKey, type Transport } from './transport.ts';

type Standing = RunResult<Json> | RunUnderWay;

/** Whether this event may change the status of a run. */
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

/**
 * Filters out the pieces that were already yielded. They arrive again, because a new connection replays the current
 * message from its beginning.
 */
class UnseenPieces {
  #message: string | undefined;
  readonly #ends = new Map<AnswerPiece['type'], number>();

  of(part: RunPart<Json>): RunPart<Json> | undefined {
    if (!('offset' in part)) return part;
    const { message, type, offset, text } = part;
    if (message !== this.#message) this.#ends.clear();
    this.#message = message;
    const seen = Math.max(0, (this.#ends.get(type) ?? 0) - offset);
    if (seen >= text.length) return undefined;
    this.#ends.set(type, offset + text.length);
    return { ...part, offset: offset + seen, text: text.slice(seen) };
  }
}

async function* partsOfRun(
  transport: Transport,
  at: string,
  after: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<RunPart<Json>, void, void> {
  const unseen = new UnseenPieces();
  for await (const frame of follow(transport, `${at}/stream`, { query: { after }, signal })) {
    if (frame.event === 'over') return;
    const part = unseen.of(dataOf<RunPart<Json>>(frame));
    if (part) yield part;
  }
}

export const runAfar = (transport: Transport, session: SessionId, id: RunId): Run<Json> => {
  const inSession = path`/v1/sessions/${session}`;
  const at = path`/v1/sessions/${session}/runs/${id}`;
  const look = (signal?: AbortSignal): Promise<Standing> =>
    transport.json<Standing>(at, { isPatient: signal !== undefined, signal });

  /** Waits until the run has the wanted status. The run is read again after every event that may have changed it. */
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
    stream: ({ after, signal } = {}) =>
      abortableGenerator(signal, (ending) => partsOfRun(transport, at, after, ending)),
    status: () => look(),
    result: ({ signal } = {}) => waitUntil(isAtRest, signal),
    waitForEnd: ({ signal } = {}) => waitUntil(hasEnded, signal),
    cancel: () => transport.done(`${at}/cancel`, { method: 'POST', body: {}, idempotencyKey: freshKey() }),
  };
};
