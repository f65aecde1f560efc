import { z } from 'zod';
import { abortableGenerator } from '../../concurrency/abortable-generator.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import type { SessionKey } from '../ports/store.ts';
import { mayHideSession } from '../ports/viewers.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { findPoint, refuseBeyond } from './points.ts';
import { readForward } from './read-log.ts';
import type { FollowAccess } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';
import { YieldedEvents } from './yielded-events.ts';

export interface EventsOptions {
  /** The seq of an existing event to start after. 0 reads from the first event. */
  readonly after?: number | undefined;
  /** The point at which to end. By default the newest event. */
  readonly at?: Point | undefined;
  /** Continues with events that are appended later, until the signal aborts, the loop ends or the runtime closes. */
  readonly follow?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options that every follower accepts: the position to continue from, and a signal that ends the follower. */
export const Following = z.strictObject({
  after: z.int().nonnegative().optional(),
  signal: z.instanceof(AbortSignal).optional(),
});
const Options = Following.extend({ at: Point.optional(), follow: z.boolean().optional() }).refine(
  ({ at, follow }) => !at || !follow,
  { error: 'at and follow exclude each other: pass only one of them' },
);

interface FollowOptions extends EventsOptions {
  readonly signal: AbortSignal;
}

/** Yields every event once and in order, from the reader's own cursor. */
export const readEvents = (
  scope: FollowAccess,
  key: SessionKey,
  options: EventsOptions = {},
): AsyncGenerator<SessionEvent, void, void> => {
  const asked = parseInput('the query', Options, options);
  return abortableGenerator(asked.signal, (signal) => untilClosed(scope, key, { ...asked, signal }));
};

/** Ends a follower without an error if the runtime closes meanwhile. */
async function* untilClosed(
  scope: FollowAccess,
  key: SessionKey,
  options: FollowOptions,
): AsyncGenerator<SessionEvent, void, void> {
  const isLate = scope.closing.aborted;
  try {
    yield* followEvents(scope, key, options);
  } catch (error) {
    if (!isLate && scope.closing.aborted && options.follow && isPerdureError(error, 'RUNTIME_CLOSED')) return;
    throw error;
  }
}

/**
 * Reads alone up to the newest event, then shares the tail of the log with the other followers. A follower that falls
 * behind the tail reads alone again, so that a slow reader holds nothing in memory.
 * If the store lost events that were yielded, the follower goes back to the last one that is left, and yields those
 * that replace them.
 */
async function* followEvents(
  scope: FollowAccess,
  key: SessionKey,
  options: FollowOptions,
): AsyncGenerator<SessionEvent, void, void> {
  let cursor = options.after ?? 0;
  const head = await scope.store.head(key);
  if (!head) throw sessionNotFound(key);
  refuseBeyond(key, cursor, head);
  const upTo = options.at && (await findPoint(scope, key, options.at));
  const ending = AbortSignal.any([scope.closing, options.signal]);
  const yielded = new YieldedEvents();
  let wasWoken = false;
  const tail = options.follow ? scope.tails.join(key) : undefined;
  try {
    while (!ending.aborted) {
      let isFirst = true;
      let isLost = false;
      for await (const stored of readForward(scope.store, key, { after: cursor, ...(upTo && { upTo }) })) {
        isLost = isFirst && yielded.mayDiffer(stored) && (await scope.folds.isLost(key, yielded.last));
        if (isLost) break;
        isFirst = false;
        yield decodeEvent(key.workspace, stored);
        cursor = stored.seq;
        if (options.follow) yielded.add(stored);
        if (ending.aborted) return;
      }
      if (!tail) return;
      // Without a new event, the wake-up may mean that the store has lost some.
      if (isLost || (isFirst && wasWoken && yielded.last && (await scope.folds.isLost(key, yielded.last)))) {
        cursor = await yielded.commonPoint(scope.store, key);
        wasWoken = false;
        continue;
      }
      wasWoken = false;
      while (!ending.aborted) {
        const page = await tail.next(cursor, ending);
        wasWoken = page?.length === 0;
        // The follower reads alone if it is behind, if there is nothing new, or if what it yielded may be lost.
        if (!page?.[0] || yielded.mayDiffer(page[0].stored)) break;
        const isChecked = page.some(({ event }) => mayHideSession(event));
        if (isChecked && !(await scope.store.head(key))) throw sessionNotFound(key);
        for (const { event, stored } of page) {
          yield event;
          cursor = event.seq;
          yielded.add(stored);
          if (ending.aborted) return;
        }
      }
    }
  } finally {
    tail?.leave();
  }
}
