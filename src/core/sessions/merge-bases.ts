import type { SessionId } from '../../schema/ids.ts';
import { keyOf, type LogAccess } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import type { Head, SessionKey } from '../ports/store.ts';
import type { AdoptionMark, SessionFold } from '../session/fold.ts';

/** A place in each of two sessions, after which each changes by itself. */
export interface MergeBase {
  readonly ours: number;
  readonly theirs: number;
}

/** How much of the sequence of a session and of each of its ancestors is part of the session's own. */
type Reach = ReadonlyMap<string, number>;

const reachOf = async (scope: LogAccess, { session }: SessionKey): Promise<Reach> => {
  const reach = new Map<string, number>();
  let seq = Number.POSITIVE_INFINITY;
  for (let next: SessionId | undefined = session; next; ) {
    const head: Head | undefined = await scope.store.head(keyOf(scope, next));
    if (!head) throw sessionNotFound(keyOf(scope, next));
    reach.set(next, Math.min(seq, head.seq));
    seq = Math.min(seq, head.parent?.seq ?? 0);
    next = head.parent?.session;
  }
  return reach;
};

const partingOf = (ours: Reach, theirs: Reach): number | undefined => {
  for (const [session, seq] of theirs) {
    const shared = ours.get(session);
    if (shared !== undefined) return Math.min(shared, seq);
  }
  return undefined;
};

/** An adoption that was taken back leaves the same on both sides what was so before it. */
const standsAt = ({ before, commits }: AdoptionMark): number => (commits.length % 2 === 1 ? commits[0] : before);

const adoptionsIn = ({ adopted }: SessionFold, reach: Reach): readonly { own: number; other: number }[] =>
  Object.entries(adopted).flatMap(([session, marks]) =>
    marks
      .filter(({ theirs }) => theirs <= (reach.get(session) ?? 0))
      .map((mark) => ({ own: standsAt(mark), other: mark.theirs })),
  );

/** Where two sessions met, newest first: their adoptions of each other or of each other's ancestors, and where they parted. None for strangers. */
export const mergeBases = async (
  scope: LogAccess,
  [ourKey, ours]: readonly [SessionKey, SessionFold],
  [theirKey, theirs]: readonly [SessionKey, SessionFold],
): Promise<readonly MergeBase[]> => {
  const [ourReach, theirReach] = [await reachOf(scope, ourKey), await reachOf(scope, theirKey)];
  const parting = partingOf(ourReach, theirReach);
  if (parting === undefined) return [];
  return [
    { ours: parting, theirs: parting },
    ...adoptionsIn(ours, theirReach).map(({ own, other }) => ({ ours: own, theirs: other })),
    ...adoptionsIn(theirs, ourReach).map(({ own, other }) => ({ ours: other, theirs: own })),
  ].sort((a, b) => b.ours + b.theirs - (a.ours + a.theirs));
};
