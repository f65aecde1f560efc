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

/** `after` is a time of change in ms since 1970: what changed from then on is told first. */
export type ChangesOptions = z.input<typeof Following>;

export interface SessionChange {
  readonly session: SessionId;
  /** The seq of its newest event. */
  readonly head: number;
  /** For who breaks off here: all that was not told yet has changed from then on. */
  readonly after: number;
}

/** What is kept for a reader; beyond it the listing is read. */
const maxSessions = 10_000;

type ChangesAccess = Omit<FollowAccess, 'folds'>;

/** Each session that changes from now on, or from `after` on, its newest head alone. */
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
  const told = new BoundedMap<SessionId, number>(maxSessions);
  const isTold = (session: SessionId, head: number): boolean => (told.get(session) ?? 0) >= head;
  const untold = new Map<SessionId, number>();
  const now = (): number => Math.max(0, clock.now() - clockSkewMs);
  let untoldFromMs = Math.min(after, now());
  let listFromMs: number | undefined = after;
  const stopWatching = store.watchWorkspace(workspace, (session, head) => {
    if (isTold(session, head)) return;
    untold.set(session, Math.max(head, untold.get(session) ?? 0));
    if (untold.size > maxSessions) {
      untold.clear();
      listFromMs = Math.min(listFromMs ?? Number.POSITIVE_INFINITY, untoldFromMs);
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
    for (const change of untold) {
      untold.delete(change[0]);
      yield change;
    }
  }
  ending.addEventListener('abort', bell.ring);
  try {
    while (!ending.aborted) {
      for await (const [session, head] of waiting()) {
        if (isTold(session, head)) continue;
        told.set(session, head);
        yield { session, head, after: untoldFromMs };
        if (ending.aborted) return;
      }
      if (listFromMs !== undefined) continue;
      untoldFromMs = now();
      await bell.rung();
    }
  } finally {
    stopWatching();
    ending.removeEventListener('abort', bell.ring);
  }
}
