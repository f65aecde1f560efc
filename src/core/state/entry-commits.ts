import { isPerdureError } from '../../schema/error.ts';
import type { FoundPlace } from '../engine/places.ts';
import { keyOf, type LogAccess } from '../engine/scope.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import { liveWithin } from '../session/live-lineage.ts';
import type { CommitRecord } from '../session/state/commit-record.ts';
import { commitsWithin } from './commits.ts';
import { SaidReader } from './said.ts';

/** The commit that set the value of an entry: when, by which actor or tool, and why. */
export type EntryCommit = Pick<CommitRecord, 'session' | 'seq' | 'turn' | 'at' | 'actor' | 'cause' | 'said' | 'why'>;

/** The number of last commits that are read once for all entries, because they changed most entries. */
const maxLooked = 40;

const entryCommitOf = ({ session, seq, turn, at, actor, cause, said, why }: CommitRecord): EntryCommit => ({
  session,
  seq,
  turn,
  at,
  actor,
  ...(cause && { cause }),
  ...(said && { said }),
  ...(why !== undefined && { why }),
});

/** The entries whose values a commit sets. A lift sets no value. */
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
    for (const entry of entries) if (left.delete(entry)) found.set(entry, entryCommitOf(commit));
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
      take(commit, [path]); // It need not be the newest commit of its other entries.
      break;
    }
  }
};

/**
 * Finds for each entry the newest commit that set or removed its value at the place. Entries without such a commit are
 * left out. Damaged commits and index errors are ignored, because they must not make the state unreadable.
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
  const said = new SaidReader(scope, keyOf(scope, place.place.session));
  const entries = [...found.keys()];
  return new Map((await said.of([...found.values()])).map((commit, index) => [entries[index]!, commit]));
};
