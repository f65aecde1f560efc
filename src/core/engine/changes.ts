import type { z } from 'zod';
import { abortableGenerator } from '../../concurrency/abortable-generator.ts';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { SessionId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { changedSince, clockSkewMs } from '../ports/changed-since.ts';
import { newDoorbell } from './doorbell.ts';
import { Following } from './events.ts';
import type { FollowAccess } from './scope.ts';

/** `after` is a time in ms since 1970. Sessions that changed at or after that time are reported first. */
export type ChangesOptions = z.input<typeof Following>;

export interface SessionChange {
  readonly session: SessionId;
  /** The seq of its newest event. */
  readonly head: number;
  /**
   * A reader that stops here can resume with this value as `after`. Every change that was not reported yet happened at
   * or after this time.
   */
  readonly after: number;
}

/**
 * Maximum sessions remembered for one reader. If more sessions are pending, their changes are read from the listing.
 */
const maxSessions = 10_000;

type ChangesAccess = Omit<FollowAccess, 'folds'>;

/**
 * Yields each session that changes from now on, or since `after`. Several changes of a session may be reported as one
 * change, with the newest head.
 */
export const readChanges = (
  scope: ChangesAccess,
  options: ChangesOptions = {},
): AsyncGenerator<SessionChange, void, void> => {
  const { after = scope.clock.now(), signal } = parseInput('the query', Following, options);
  return abortableGenerator(signal, (ending) => untilClosed(scope, after, ending));
};

async function* untilClosed(
  scope: ChangesAccess,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<SessionChange, void, void> {
  const isLate = scope.closing.aborted;
  try {
    yield* followChanges(scope, after, AbortSignal.any([scope.closing, signal]));
  } catch (error) {
    if (isLate || !scope.closing.aborted || !isPerdureError(error, 'RUNTIME_CLOSED')) throw error;
  }
}

async function* followChanges(
  { store, workspace, clock }: ChangesAccess,
  after: number,
  ending: AbortSignal,
): AsyncGenerator<SessionChange, void, void> {
  const bell = newDoorbell(clock);
  const reported = new BoundedMap<SessionId, number>(maxSessions);
  const isReported = (session: SessionId, head: number): boolean => (reported.get(session) ?? 0) >= head;
  const pending = new Map<SessionId, number>();
  const now = (): number => Math.max(0, clock.now() - clockSkewMs);
  let pendingFromMs = Math.min(after, now());
  let listFromMs: number | undefined = after;
  const stopWatching = store.watchWorkspace(workspace, (session, head) => {
    if (isReported(session, head)) return;
    pending.set(session, Math.max(head, pending.get(session) ?? 0));
    if (pending.size > maxSessions) {
      pending.clear();
      listFromMs = Math.min(listFromMs ?? Number.POSITIVE_INFINITY, pendingFromMs);
    }
    bell.ring();
  });
  async function* waiting(): AsyncGenerator<readonly [SessionId, number], void, void> {
    if (listFromMs !== undefined) {
      const from = listFromMs;
      listFromMs = undefined;
      for await (const { id, seq } of changedSince((...asked) => store.list(...asked), workspace, from))
        yield [id, seq];
    }
    for (const change of pending) {
      pending.delete(change[0]);
      yield change;
    }
  }
  ending.addEventListener('abort', bell.ring);
  try {
    while (!ending.aborted) {
      for await (const [session, head] of waiting()) {
        if (isReported(session, head)) continue;
        reported.set(session, head);
        yield { session, head, after: pendingFromMs };
        if (ending.aborted) return;
      }
      if (listFromMs !== undefined) continue;
      pendingFromMs = now();
      await bell.rung();
    }
  } finally {
    stopWatching();
    ending.removeEventListener('abort', bell.ring);
  }
}
