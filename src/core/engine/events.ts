import { z } from 'zod';
import { abortableGenerator } from '../../concurrency/abortable-generator.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import type { SessionKey } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { newDoorbell } from './doorbell.ts';
import { findPoint, refuseBeyond } from './points.ts';
import { readForward } from './read-log.ts';
import type { FollowAccess } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

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

/** Reads, then waits for new events. A wake-up is only a hint to read again from the cursor. */
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
  const bell = newDoorbell(scope.clock);
  const stopWatching = options.follow ? scope.store.watch(key, bell.ring) : undefined;
  ending.addEventListener('abort', bell.ring);
  try {
    while (!ending.aborted) {
      for await (const stored of readForward(scope.store, key, { after: cursor, ...(upTo && { upTo }) })) {
        yield decodeEvent(key.workspace, stored);
        cursor = stored.seq;
        if (ending.aborted) return;
      }
      if (!options.follow) return;
      await bell.rung();
    }
  } finally {
    stopWatching?.();
    ending.removeEventListener('abort', bell.ring);
  }
}
