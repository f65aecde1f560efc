import { endAtOnce } from '../core/engine/end-at-once.ts';
import type { AnswerPiece, RunPart } from '../core/runs/run-part.ts';
import type { Run, RunResult, RunUnderWay } from '../core/runs/runs.ts';
import { PerdureError } from '../schema/error.ts';
import type { SessionEvent } from '../schema/event.ts';
import type { RunId, SessionId } from '../schema/ids.ts';
import { runEnds } from '../schema/run.ts';
import { path } from './address.ts';
import { dataOf, eventIn, followEvents } from './events.ts';
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

/** What is new of a piece: a connection that is made anew shows the message that is being written from its beginning. */
class UnseenPieces {
  #message: string | undefined;
  readonly #ends = new Map<AnswerPiece['type'], number>();

  of(part: RunPart): RunPart | undefined {
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
): AsyncGenerator<RunPart, void, void> {
  const unseen = new UnseenPieces();
  for await (const frame of follow(transport, `${at}/stream`, { query: { after }, signal })) {
    if (frame.event === 'over') return;
    const part = unseen.of(dataOf<RunPart>(frame));
    if (part) yield part;
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
    events: ({ after, signal } = {}) => endAtOnce(signal, (ending) => eventsOfRun(transport, at, after, ending)),
    stream: ({ after, signal } = {}) => endAtOnce(signal, (ending) => partsOfRun(transport, at, after, ending)),
    status: () => look(),
    result: ({ signal } = {}) => whenRested(({ status }) => status !== 'running', signal),
    waitForEnd: ({ signal } = {}) => whenRested(isEnd, signal),
    cancel: () => transport.done(`${at}/cancel`, { method: 'POST', body: {}, idempotencyKey: freshKey() }),
  };
};
