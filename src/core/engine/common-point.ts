import type { StoredEvent } from '../ports/store.ts';
import type { LiveRange } from '../session/live-lineage.ts';
import type { FoundPlace } from './places.ts';
import { keyOf, type LogAccess } from './scope.ts';

/** The seq up to which two live lineages have the same seqs. */
const commonLive = (ours: readonly LiveRange[], theirs: readonly LiveRange[]): number => {
  let common = 0;
  for (const [place, [from, to]] of ours.entries()) {
    const other = theirs[place];
    if (other?.[0] !== from) return common;
    common = Math.min(to, other[1]);
    if (to !== other[1]) return common;
  }
  return common;
};

const hashAt = async (
  scope: LogAccess,
  { place }: FoundPlace,
  seq: number,
): Promise<StoredEvent['hash'] | undefined> => {
  const [event] = await scope.store.read(keyOf(scope, place.session), { after: seq - 1, upTo: seq, limit: 1 });
  return event?.hash;
};

/**
 * The seq up to which two logs have the same events. Hashes are compared, because each covers all events before it. So
 * no ancestor is read, which the caller may not see.
 */
const partingOf = async (scope: LogAccess, a: FoundPlace, b: FoundPlace, upTo: number): Promise<number> => {
  if (a.place.session === b.place.session) return upTo;
  if (a.fold.inputKey !== b.fold.inputKey) return 0;
  let [same, differs] = [0, upTo + 1];
  const look = async (seq: number): Promise<void> => {
    if (seq <= same || seq >= differs) return;
    const [ours, theirs] = await Promise.all([hashAt(scope, a, seq), hashAt(scope, b, seq)]);
    if (ours && theirs && Buffer.compare(ours, theirs) === 0) same = seq;
    else differs = seq;
  };
  const forks = [a.fold.parent?.seq, b.fold.parent?.seq].filter((seq) => seq !== undefined);
  for (const guess of [upTo, ...forks, ...forks.map((seq) => seq + 1)]) await look(guess);
  while (differs - same > 1) await look((same + differs) >> 1);
  return same;
};

/**
 * The newest seq that the live lineages of two places share. Returns 0 for unrelated sessions. The earlier place itself
 * is returned if the later one goes on from it.
 */
export const commonPoint = async (scope: LogAccess, a: FoundPlace, b: FoundPlace): Promise<number> =>
  partingOf(scope, a, b, commonLive(a.fold.live, b.fold.live));
