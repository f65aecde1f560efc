import { pointerOf } from '../../schema/state.ts';
import type { SessionKey } from '../ports/store.ts';
import type { CommitRecord } from '../session/commit-record.ts';
import { diffStates, type StateDiff } from '../session/diff.ts';
import { liveWithin } from '../session/live-lineage.ts';
import { commitsWithin } from './commits.ts';
import { type DiffPlace, type FoundPlace, foldAtPlace, type PlaceRef } from './places.ts';
import type { Scope } from './scope.ts';

/** The commit that made an entry what it is: when, by whom or by which tool, and why. */
export type EntryCommit = Pick<CommitRecord, 'session' | 'seq' | 'turn' | 'at' | 'actor' | 'cause' | 'why'>;

export interface SessionDiff extends StateDiff {
  readonly from: PlaceRef;
  readonly to: PlaceRef;
  /** By the path of an entry that differs, who made it so on either side; of the first 100, and none of files and counters, which name their calls. */
  readonly commits: Readonly<Record<string, { readonly before?: EntryCommit; readonly after?: EntryCommit }>>;
}

const maxEntries = 100;
const toldParts = ['decisions', 'facts', 'pins', 'plan', 'pendingActions', 'progress', 'own', 'scratch'] as const;

/** The newest that gave the entry its value there, or took it away. */
const commitOf = async (scope: Scope, { place, fold }: FoundPlace, path: string): Promise<EntryCommit | undefined> => {
  const within = { session: place.session, ranges: liveWithin(fold.live, 0, place.seq) };
  for await (const commit of commitsWithin(scope, within, path)) {
    const { session, seq, turn, at, actor, cause, why, origin, entries } = commit;
    const isItsValue = entries.includes(path) && origin?.kind !== 'lift';
    if (isItsValue)
      return { session, seq, turn, at, actor, ...(cause && { cause }), ...(why !== undefined && { why }) };
  }
  return undefined;
};

const commitsOf = async (
  scope: Scope,
  diff: StateDiff,
  from: FoundPlace,
  to: FoundPlace,
): Promise<SessionDiff['commits']> => {
  const paths = toldParts.flatMap((part) => diff[part].map(({ id }) => pointerOf(part, id)));
  const commits: Record<string, SessionDiff['commits'][string]> = {};
  for (const path of paths.slice(0, maxEntries)) {
    const [before, after] = await Promise.all([commitOf(scope, from, path), commitOf(scope, to, path)]);
    commits[path] = { ...(before && { before }), ...(after && { after }) };
  }
  return commits;
};

/** What was decided, learnt, planned and changed between two places, by whom and why. */
export const diffPlaces = async (scope: Scope, key: SessionKey, a: DiffPlace, b: DiffPlace): Promise<SessionDiff> => {
  const [from, to] = await Promise.all([foldAtPlace(scope, key, a), foldAtPlace(scope, key, b)]);
  const diff = diffStates(from.fold.state, to.fold.state);
  return { from: from.place, to: to.place, ...diff, commits: await commitsOf(scope, diff, from, to) };
};
