import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { Point } from '../../schema/point.ts';
import type { SessionKey } from '../ports/store.ts';
import { decodeEvent } from '../session/event-codec.ts';
import { resolvePoint } from './points.ts';
import { readForward } from './read-log.ts';
import type { Scope } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

export interface EventsOptions {
  /** Exclusive: where the reader is. 0 reads from the first event. */
  readonly after?: number | undefined;
  /** Ends there instead of at the newest event. */
  readonly at?: Point | undefined;
  /** Goes on with what is appended later, until the signal, the loop or the runtime ends it. */
  readonly follow?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

const longestTimerMs = 2 ** 31 - 1;

/** Remembers that it was rung, so that a ring between reading and waiting is not lost. Whoever waits keeps the process alive. */
const doorbell = (): { ring: () => void; rung: () => Promise<void> } => {
  let rang = false;
  let answer: (() => void) | undefined;
  return {
    ring: () => {
      rang = true;
      answer?.();
    },
    rung: async () => {
      if (!rang) {
        const awake = setInterval(() => {}, longestTimerMs);
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        clearInterval(awake);
      }
      answer = undefined;
      rang = false;
    },
  };
};

const startOf = ({ after = 0 }: EventsOptions): number => {
  if (Number.isSafeInteger(after) && after >= 0) return after;
  throw new PerdureError('INVALID_INPUT', `after is a sequence number, 0 or more; got ${after}`, {
    details: { after },
  });
};

/** Every event once and in order from the reader's own cursor. A runtime that closes meanwhile ends a follower without an error. */
export async function* readEvents(
  scope: Scope,
  key: SessionKey,
  options: EventsOptions = {},
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
  scope: Scope,
  key: SessionKey,
  options: EventsOptions,
): AsyncGenerator<SessionEvent, void, void> {
  let cursor = startOf(options);
  if (!(await scope.store.head(key))) throw sessionNotFound(key);
  const upTo = options.at && (await resolvePoint(scope.store, key, await scope.folds.outline(key), options.at));
  const ending = AbortSignal.any([scope.closing, ...(options.signal ? [options.signal] : [])]);
  const bell = doorbell();
  const stopWatching = options.follow ? scope.store.watch(key, bell.ring) : undefined;
  ending.addEventListener('abort', bell.ring);
  try {
    while (!ending.aborted) {
      for await (const stored of readForward(scope.store, key, { after: cursor, ...(upTo && { upTo }) })) {
        yield decodeEvent(key.workspace, stored);
        cursor = stored.seq;
        if (ending.aborted) return;
      }
      if (!options.follow || upTo) return;
      await bell.rung();
    }
  } finally {
    stopWatching?.();
    ending.removeEventListener('abort', bell.ring);
  }
}
