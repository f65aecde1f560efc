import { z } from 'zod';
import { abortableGenerator } from '../../concurrency/abortable-generator.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import type { SessionKey } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { newDoorbell } from './doorbell.ts';
import { refuseBeyond, resolvePoint } from './points.ts';
import { readForward } from './read-log.ts';
import type { FollowAccess } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

export interface EventsOptions {
  /** Exclusive: where the reader is, an event that is there. 0 reads from the first event. */
  readonly after?: number | undefined;
  /** Ends there instead of at the newest event. */
  readonly at?: Point | undefined;
  /** Goes on with what is appended later, until the signal, the loop or the runtime ends it. */
  readonly follow?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What everyone who follows a log may say: where to go on from, and what ends it. */
export const Following = z.strictObject({
  after: z.int().nonnegative().optional(),
  signal: z.instanceof(AbortSignal).optional(),
});
const Options = Following.extend({ at: Point.optional(), follow: z.boolean().optional() }).refine(
  ({ at, follow }) => !at || !follow,
  { error: 'at ends where follow goes on: leave out one' },
);

interface FollowOptions extends EventsOptions {
  readonly signal: AbortSignal;
}

/** Every event once and in order from the reader's own cursor. */
export const readEvents = (
  scope: FollowAccess,
  key: SessionKey,
  options: EventsOptions = {},
): AsyncGenerator<SessionEvent, void, void> => {
  const asked = parseInput('the query', Options, options);
  return abortableGenerator(asked.signal, (signal) => untilClosed(scope, key, { ...asked, signal }));
};

/** A runtime that closes meanwhile ends a follower without an error. */
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

/** A wake-up only says when to look again. */
async function* followEvents(
  scope: FollowAccess,
  key: SessionKey,
  options: FollowOptions,
): AsyncGenerator<SessionEvent, void, void> {
  let cursor = options.after ?? 0;
  const head = await scope.store.head(key);
  if (!head) throw sessionNotFound(key);
  refuseBeyond(key, cursor, head);
  const upTo = options.at && (await resolvePoint(scope.store, key, await scope.folds.outline(key), options.at));
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
