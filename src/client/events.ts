import { abortableGenerator } from '../concurrency/abortable-generator.ts';
import type { EventsOptions } from '../core/engine/events.ts';
import { PerdureError } from '../schema/error.ts';
import type { SessionEvent } from '../schema/event.ts';
import { pointText } from './address.ts';
import { follow } from './follow.ts';
import type { Frame } from './frame-parser.ts';
import { unavailable } from './problem.ts';
import type { Transport } from './transport.ts';

interface EventPage {
  readonly events: readonly SessionEvent[];
  readonly after: number;
  readonly more: boolean;
}

const pageSize = 1000;

export const dataOf = <T>({ data }: Frame): T => {
  try {
    return JSON.parse(data) as T;
  } catch (cause) {
    throw unavailable('unexpected answer from the server: a frame of the stream is not JSON', { cause });
  }
};

/** Parses the event in a frame. Returns undefined for a frame that carries no event of the log, such as a preview. */
export const eventIn = (frame: Frame): SessionEvent | undefined =>
  frame.id === undefined ? undefined : dataOf<SessionEvent>(frame);

/** Yields a session's events as they are written, until the abort signal fires. */
export async function* followEvents(
  transport: Transport,
  session: string,
  { after = 0, signal }: EventsOptions,
): AsyncGenerator<SessionEvent, void, void> {
  for await (const frame of follow(transport, `${session}/events`, { query: { after }, signal })) {
    const event = eventIn(frame);
    if (event) yield event;
  }
}

/** Yields the events that exist at the time of the call, page by page. */
async function* pagesOfEvents(
  transport: Transport,
  session: string,
  { after = 0, at, signal }: EventsOptions,
): AsyncGenerator<SessionEvent, void, void> {
  for (let cursor = after; !signal?.aborted; ) {
    const query = { after: cursor, at: pointText(at), follow: false, limit: pageSize };
    const page = await transport.json<EventPage>(`${session}/events`, { query, signal });
    yield* page.events;
    if (!page.more) return;
    cursor = page.after;
  }
}

export const readEvents = (
  transport: Transport,
  session: string,
  options: EventsOptions = {},
): AsyncGenerator<SessionEvent, void, void> => {
  if (options.at && options.follow) {
    throw new PerdureError(
      'INVALID_INPUT',
      'the query is not valid: `at` and `follow` exclude each other: leave out one',
    );
  }
  const read = options.follow ? followEvents : pagesOfEvents;
  return abortableGenerator(options.signal, (signal) =>
    untilAborted(read(transport, session, { ...options, signal }), signal),
  );
};

/** Passes on the items of a reader. When the signal aborts, it ends without an error. */
async function* untilAborted<T>(
  steps: AsyncGenerator<T, void, void>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  try {
    yield* steps;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
