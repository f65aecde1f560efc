import type { z } from 'zod';
import { abortableGenerator } from '../../concurrency/abortable-generator.ts';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { SessionId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { changedSince, clockSkewMs } from '../ports/changed-since.ts';
import { newDoorbell } from './doorbell.ts';
import { Following } from './events.ts';
import { FairTurns } from './fair-turns.ts';
import type { FollowAccess, SightAccess } from './scope.ts';

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

type ChangesAccess = Omit<FollowAccess, 'folds' | 'tails'> & Pick<SightAccess, 'seesByReach'>;

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

/** A head as the store reported it. */
interface Told {
  readonly head: number;
  readonly at?: number | undefined;
}

const isSame = (before: Told | undefined, { head, at }: Told): boolean =>
  before?.head === head && (at === undefined || before.at === undefined || before.at === at);

const newer = (before: Told | undefined, told: Told): Told => (before && before.head > told.head ? before : told);

async function* followChanges(
  { store, workspace, clock, seesByReach }: ChangesAccess,
  after: number,
  ending: AbortSignal,
): AsyncGenerator<SessionChange, void, void> {
  const bell = newDoorbell(clock);
  const reported = new BoundedMap<SessionId, Told>(maxSessions);
  const pending = new Map<SessionId, Told>();
  const now = (): number => Math.max(0, clock.now() - clockSkewMs);
  let pendingFromMs = Math.min(after, now());
  let listFromMs: number | undefined = after;
  const turns = FairTurns.of(clock);
  let isWoken = false;
  const wake = (): void => {
    isWoken = false;
    bell.ring();
  };
  const stopWatching = store.watchWorkspace(workspace, (session, head, at) => {
    const told = { head, at };
    if (isSame(reported.get(session), told)) return;
    pending.set(session, newer(pending.get(session), told));
    if (pending.size > maxSessions) {
      pending.clear();
      listFromMs = Math.min(listFromMs ?? Number.POSITIVE_INFINITY, pendingFromMs);
    }
    if (isWoken) return;
    isWoken = true;
    turns.add(workspace, [wake]);
  });
  /** What to report. A head below the reported one is either late, or the store lost events; the store says which. */
  const changeSince = async (session: SessionId, before: Told | undefined, told: Told): Promise<Told | undefined> => {
    if (isSame(before, told)) return undefined;
    if (!before || told.head >= before.head) return told;
    const head = await store.head({ workspace, session });
    const now = head && { head: head.seq, at: head.at };
    return now && !isSame(before, now) ? now : undefined;
  };
  async function* waiting(): AsyncGenerator<readonly [SessionId, Told], void, void> {
    if (listFromMs !== undefined) {
      const from = listFromMs;
      listFromMs = undefined;
      for await (const { id, seq, updatedAt } of changedSince((...asked) => store.list(...asked), workspace, from))
        yield [id, { head: seq, at: updatedAt }];
    }
    for (const change of pending) {
      pending.delete(change[0]);
      yield change;
    }
  }
  ending.addEventListener('abort', bell.ring);
  try {
    while (!ending.aborted) {
      for await (const [session, told] of waiting()) {
        // A hint names any session of the workspace.
        if (!(await seesByReach({ workspace, session }))) continue;
        const change = await changeSince(session, reported.get(session), told);
        if (!change) continue;
        reported.set(session, change);
        yield { session, head: change.head, after: pendingFromMs };
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
