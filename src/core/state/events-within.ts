import type { SessionEvent } from '../../schema/event.ts';
import type { LogAccess } from '../engine/scope.ts';
import { eventLoop } from '../ports/event-loop.ts';
import type { SessionKey, StoredEvent } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';

type Range = readonly [from: number, to: number];

const pageEvents = 256;
const pageBytes = 2 * 1024 * 1024;

/** What is left to read. A reader counts down. */
export interface ReadBudget {
  bytes: number;
}

/** Joins ranges that overlap or touch, in order. Keeps the last ones if they have more than `maxEvents` in all. */
export const joinRanges = (ranges: readonly Range[], maxEvents = Number.POSITIVE_INFINITY): readonly Range[] => {
  const joined: [number, number][] = [];
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = joined.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  let left = maxEvents;
  const kept = joined.toReversed().flatMap(([from, to]): Range[] => {
    const first = Math.max(from, to - left + 1);
    left -= to - from + 1;
    return first <= to ? [[first, to]] : [];
  });
  return kept.toReversed();
};

export const rangesAt = (seqs: readonly number[]): readonly Range[] => joinRanges(seqs.map((seq) => [seq, seq]));

const decoded = (scope: LogAccess, stored: StoredEvent): SessionEvent | undefined => {
  try {
    return decodeEvent(scope.workspace, stored);
  } catch (error) {
    if (isSessionDamage(error)) return undefined;
    throw error;
  }
};

const wantedTypes: ReadonlySet<string> = new Set(['message.appended', 'tool.called', 'call.reported']);

/**
 * Yields the messages and the starts of calls in these ranges, in order, page by page, while the budget lasts. Leaves out
 * events that are missing, redacted or damaged.
 */
export async function* eventsWithin(
  scope: LogAccess,
  key: SessionKey,
  ranges: readonly Range[],
  budget: ReadBudget,
): AsyncGenerator<SessionEvent, void, void> {
  const end = ranges.at(-1)?.[1] ?? 0;
  for (let after = 0; after < end && budget.bytes > 0; ) {
    const range = { after, within: ranges, limit: pageEvents, maxBytes: pageBytes };
    const page = await eventLoop.reading(() => scope.store.read(key, range));
    for (const stored of page) {
      await eventLoop.slice();
      budget.bytes -= stored.body.kind === 'bytes' ? stored.body.bytes.length : 0;
      const event = wantedTypes.has(stored.type) ? decoded(scope, stored) : undefined;
      if (event) yield event;
    }
    const last = page.at(-1);
    if (!last) return;
    after = last.seq;
  }
}
