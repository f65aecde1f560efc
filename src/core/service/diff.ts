import type { SessionKey } from '../ports/store.ts';
import { diffStates, type StateDiff } from '../session/diff.ts';
import { type DiffPlace, foldAtPlace, type PlaceRef } from './places.ts';
import type { Scope } from './scope.ts';

export interface SessionDiff extends StateDiff {
  readonly from: PlaceRef;
  readonly to: PlaceRef;
}

/** What was decided, learnt, planned and changed between two places. */
export const diffPlaces = async (scope: Scope, key: SessionKey, a: DiffPlace, b: DiffPlace): Promise<SessionDiff> => {
  const [from, to] = await Promise.all([foldAtPlace(scope, key, a), foldAtPlace(scope, key, b)]);
  return { from: from.place, to: to.place, ...diffStates(from.fold.state, to.fold.state) };
};
