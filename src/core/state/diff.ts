import { pointerOf } from '../../schema/pointer.ts';
import { type DiffPlace, type FoundPlace, foldAtPlace, type PlaceRef } from '../engine/places.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { diffStates, type StateDiff } from '../session/state/diff.ts';
import { type EntryCommit, entryCommits } from './entry-commits.ts';

export interface SessionDiff extends StateDiff {
  readonly from: PlaceRef;
  readonly to: PlaceRef;
  /**
   * For each differing entry, the commits that set its value on each side, by path. Covers the first 100 entries.
   * Leaves out files and counters, because these entries name their calls.
   */
  readonly commits: Readonly<Record<string, { readonly before?: EntryCommit; readonly after?: EntryCommit }>>;
}

const maxEntries = 100;
const attributedParts = ['decisions', 'facts', 'pins', 'plan', 'pendingActions', 'progress', 'own', 'scratch'] as const;

const commitsOf = async (
  scope: LogAccess,
  diff: StateDiff,
  from: FoundPlace,
  to: FoundPlace,
): Promise<SessionDiff['commits']> => {
  const all = attributedParts.flatMap((part) => diff[part].map(({ id }) => pointerOf(part, id)));
  const paths = all.slice(0, maxEntries);
  const [before, after] = await Promise.all([entryCommits(scope, from, paths), entryCommits(scope, to, paths)]);
  return Object.fromEntries(
    paths.map((path) => {
      const [was, is] = [before.get(path), after.get(path)];
      return [path, { ...(was && { before: was }), ...(is && { after: is }) }];
    }),
  );
};

/** Returns the entries of the state that differ between two places, with the actor and the reason of each change. */
export const diffPlaces = async (
  scope: LogAccess,
  key: SessionKey,
  a: DiffPlace,
  b: DiffPlace,
): Promise<SessionDiff> => {
  const [from, to] = await Promise.all([foldAtPlace(scope, key, a), foldAtPlace(scope, key, b)]);
  const diff = diffStates(from.fold.state, to.fold.state);
  return { from: from.place, to: to.place, ...diff, commits: await commitsOf(scope, diff, from, to) };
};
