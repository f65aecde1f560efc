import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { eventLoop } from '../ports/event-loop.ts';
import type { SessionKey, Store, StoredEvent } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';

const pageEvents = 256;
/** A walk over more than a page reads small ones, because no other work runs while a page arrives. */
const walkEvents = 64;
const pageBytes = 2 * 1024 * 1024;

/** The number of events in each page of a range. */
const limitFor = (events: number): number => (events > pageEvents ? walkEvents : pageEvents);

export const missingEvent = ({ session }: SessionKey, seq: number): PerdureError =>
  new PerdureError(
    'EVENT_DAMAGED',
    `event ${seq} of ${session} is missing; run \`perdure verify ${session}\`; \`perdure repair\` continues a session before its damage, unless a backup has the event`,
    { details: { session, seq, reason: 'it is missing' } },
  );

/** The newest events of a log, read and decoded once for several uses. */
export class NewestEvents {
  readonly #newestFirst: readonly StoredEvent[];
  readonly #decoded = new Map<StoredEvent, SessionEvent>();

  private constructor(newestFirst: readonly StoredEvent[]) {
    this.#newestFirst = newestFirst;
  }

  static async read(store: Store, key: SessionKey, upTo: number): Promise<NewestEvents> {
    const bounds = { after: 0, upTo, limit: pageEvents, maxBytes: pageBytes, order: 'descending' } as const;
    return new NewestEvents(await eventLoop.reading(() => store.read(key, bounds)));
  }

  /**
   * Returns the events of a range, newest first. Returns undefined if the last event of the range is not among the
   * newest events.
   */
  endOf(from: number, to: number): readonly StoredEvent[] | undefined {
    const isThere = this.#newestFirst.some(({ seq }) => seq === to);
    return isThere ? this.#newestFirst.filter(({ seq }) => from <= seq && seq <= to) : undefined;
  }

  /** Returns a whole range in order. Returns undefined if any part of the range is not among the newest events. */
  allOf(from: number, to: number | undefined): readonly StoredEvent[] | undefined {
    const found = to === undefined ? undefined : this.endOf(from, to);
    return found?.at(-1)?.seq === from ? found.toReversed() : undefined;
  }

  decode(workspace: WorkspaceId, stored: StoredEvent): SessionEvent {
    const event = this.#decoded.get(stored) ?? decodeEvent(workspace, stored);
    this.#decoded.set(stored, event);
    return event;
  }
}

interface Forward {
  readonly after: number;
  readonly upTo?: number;
  readonly newest?: NewestEvents | undefined;
}

/**
 * Reads the events after `after` in order, page by page and in slices, up to `upTo` or to the newest event. Throws if
 * an event is missing.
 */
export async function* readForward(
  store: Store,
  key: SessionKey,
  { after, upTo, newest }: Forward,
): AsyncGenerator<StoredEvent, void, void> {
  let cursor = after;
  const limit = limitFor((upTo ?? after) - after);
  while (upTo === undefined || cursor < upTo) {
    const bounds = { after: cursor, limit, maxBytes: pageBytes, ...(upTo !== undefined && { upTo }) };
    const page = newest?.allOf(cursor + 1, upTo) ?? (await eventLoop.reading(() => store.read(key, bounds)));
    if (page.length === 0 && upTo === undefined) return;
    if (page.length === 0) throw missingEvent(key, cursor + 1);
    for (const event of page) {
      if (event.seq !== cursor + 1) throw missingEvent(key, cursor + 1);
      const due = eventLoop.slice();
      if (due) await due;
      cursor = event.seq;
      yield event;
    }
  }
}

interface Backward {
  readonly from: number;
  readonly to: number;
  readonly newest?: NewestEvents | undefined;
}

/** Yields the events from `from` to `to`, newest first, in slices. */
export async function* readBackward(
  store: Store,
  key: SessionKey,
  { from, to, newest }: Backward,
): AsyncGenerator<StoredEvent, void, void> {
  const limit = limitFor(to - from);
  for (let next = to; next >= from; ) {
    const bounds = {
      after: from - 1,
      upTo: next,
      limit,
      maxBytes: pageBytes,
      order: 'descending',
    } as const;
    const page = newest?.endOf(from, next) ?? (await eventLoop.reading(() => store.read(key, bounds)));
    if (page.length === 0) throw missingEvent(key, next);
    for (const event of page) {
      if (event.seq !== next) throw missingEvent(key, next);
      const due = eventLoop.slice();
      if (due) await due;
      next -= 1;
      yield event;
    }
  }
}
