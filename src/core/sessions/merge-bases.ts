import { partingOf, type Reach, reachOf } from '../engine/lineage-reach.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { AdoptionMark, SessionFold } from '../session/fold.ts';

/**
 * A pair of seqs in two sessions at which both had common content, by a fork or an adoption. After that, each session
 * changes separately.
 */
export interface MergeBase {
  readonly ours: number;
  readonly theirs: number;
}

/**
 * Returns the seq at which this session agrees with the branch. `commits` alternates between adopting and reverting.
 * After a reverted adoption, the sides agree on the state before the adoption.
 */
const standsAt = ({ before, commits }: AdoptionMark): number => (commits.length % 2 === 1 ? commits[0] : before);

const adoptionsIn = ({ adopted }: SessionFold, reach: Reach): readonly { own: number; other: number }[] =>
  Object.entries(adopted).flatMap(([session, marks]) =>
    marks
      .filter(({ theirs }) => theirs <= (reach.get(session) ?? 0))
      .map((mark) => ({ own: standsAt(mark), other: mark.theirs })),
  );

/**
 * Returns the merge bases of two sessions, newest first: adoptions of each other or of each other's ancestors, and the
 * fork that separated them. Empty for unrelated sessions.
 */
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
