import { isPerdureError } from '../../schema/error.ts';
import type { FoundPlace } from '../engine/places.ts';
import type { LogAccess } from '../engine/scope.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import { liveWithin } from '../session/live-lineage.ts';
import type { CommitRecord } from '../session/state/commit-record.ts';
import { commitsWithin } from './commits.ts';

/** The commit that made an entry what it is: when, by whom or by which tool, and why. */
export type EntryCommit = Pick<CommitRecord, 'session' | 'seq' | 'turn' | 'at' | 'actor' | 'cause' | 'why'>;

/** Most entries were changed by the last commits, which are read once for all. */
const maxLooked = 40;

const toldOf = ({ session, seq, turn, at, actor, cause, why }: CommitRecord): EntryCommit => ({
  session,
  seq,
  turn,
  at,
  actor,
  ...(cause && { cause }),
  ...(why !== undefined && { why }),
});

/** A lift gives no value. */
const valuesIn = ({ origin, entries }: CommitRecord): readonly string[] => (origin?.kind === 'lift' ? [] : entries);

const findInto = async (
  found: Map<string, EntryCommit>,
  scope: LogAccess,
  { place, fold }: FoundPlace,
  paths: readonly string[],
): Promise<void> => {
  const within = { session: place.session, ranges: liveWithin(fold.live, 0, place.seq) };
  const left = new Set(paths);
  const take = (commit: CommitRecord, entries: readonly string[]) => {
    for (const entry of entries) if (left.delete(entry)) found.set(entry, toldOf(commit));
  };
  let looked = 0;
  for await (const commit of commitsWithin(scope, within, '')) {
    take(commit, valuesIn(commit));
    if (left.size === 0 || ++looked === maxLooked) break;
  }
  if (looked < maxLooked) return;
  for (const path of [...left]) {
    for await (const commit of commitsWithin(scope, within, path)) {
      if (!valuesIn(commit).includes(path)) continue;
      take(commit, [path]); // of its other entries it need not be the newest
      break;
    }
  }
};

/**
 * Of each entry the newest commit that gave it its value at the place, or took it away; none where it cannot be found, since a commit
 * that cannot be read, or a lost index, takes nobody's state away.
 */
export const entryCommits = async (
  scope: LogAccess,
  place: FoundPlace,
  paths: readonly string[],
): Promise<ReadonlyMap<string, EntryCommit>> => {
  const found = new Map<string, EntryCommit>();
  try {
    if (paths.length > 0) await findInto(found, scope, place, paths);
  } catch (error) {
    if (!isSessionDamage(error) && !isPerdureError(error, 'STORE_CORRUPT')) throw error;
  }
  return found;
};
