/** A range of seqs, both ends inclusive. */
export type LiveRange = readonly [from: number, to: number];

/**
 * Adds the event at `seq` to the live lineage, which is stored as ascending ranges. The event extends the last range if
 * it is adjacent, and begins a new range after a rewind.
 */
export const extendLive = (live: readonly LiveRange[], seq: number): readonly LiveRange[] => {
  const last = live.at(-1);
  if (!last || last[1] < seq - 1) return [...live, [seq, seq]];
  return [...live.slice(0, -1), [last[0], seq]];
};

export const isLive = (live: readonly LiveRange[], seq: number): boolean =>
  live.some(([from, to]) => from <= seq && seq <= to);

/** Extends the last range to infinity, because events appended after the head are live too. */
export const liveAndAfter = (live: readonly LiveRange[]): readonly LiveRange[] =>
  live.map(([from, to], place): LiveRange => [from, place < live.length - 1 ? to : Number.MAX_SAFE_INTEGER]);

/** The newest live seq at or before `seq`, or 0 if there is none. */
export const liveAtOrBefore = (live: readonly LiveRange[], seq: number): number =>
  live.reduce((found, [from, to]) => (from <= seq ? Math.min(to, seq) : found), 0);

/** The parts of the live ranges after `after` and up to `upTo`, inclusive. */
export const liveWithin = (live: readonly LiveRange[], after: number, upTo: number): readonly LiveRange[] =>
  live
    .map(([from, to]): LiveRange => [Math.max(from, after + 1), Math.min(to, upTo)])
    .filter(([from, to]) => from <= to);
