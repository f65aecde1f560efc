/** Sequence numbers from and to, both inclusive. */
export type LiveRange = readonly [from: number, to: number];

/**
 * The live lineage is what a rewind left standing, as ranges in rising order. The event at `seq` follows the last of them: it makes that
 * range longer when it is its neighbour, and begins a new one after a rewind.
 */
export const extendLive = (live: readonly LiveRange[], seq: number): readonly LiveRange[] => {
  const last = live.at(-1);
  if (!last || last[1] < seq - 1) return [...live, [seq, seq]];
  return [...live.slice(0, -1), [last[0], seq]];
};

export const isLive = (live: readonly LiveRange[], seq: number): boolean =>
  live.some(([from, to]) => from <= seq && seq <= to);

/** With all that may have followed since: the event at the head is live, and so is what comes after it. */
export const liveAndAfter = (live: readonly LiveRange[]): readonly LiveRange[] =>
  live.map(([from, to], place): LiveRange => [from, place < live.length - 1 ? to : Number.MAX_SAFE_INTEGER]);

/** The newest live place at or before `seq`; 0 when there is none. */
export const liveAtOrBefore = (live: readonly LiveRange[], seq: number): number =>
  live.reduce((found, [from, to]) => (from <= seq ? Math.min(to, seq) : found), 0);

/** The live ranges within (after, upTo], for reading. */
export const liveWithin = (live: readonly LiveRange[], after: number, upTo: number): readonly LiveRange[] =>
  live
    .map(([from, to]): LiveRange => [Math.max(from, after + 1), Math.min(to, upTo)])
    .filter(([from, to]) => from <= to);
