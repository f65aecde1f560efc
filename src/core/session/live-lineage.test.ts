import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extendLive, isLive, type LiveRange, liveAtOrBefore, liveWithin } from './live-lineage.ts';

/**
 * Returns the ranges, and a plain set of live seqs to compare them with. Each step appends an event. If a step has a
 * number n, it first rewinds to the n-th live seq.
 */
const walk = (steps: readonly (number | undefined)[]): { live: readonly LiveRange[]; places: readonly number[] } => {
  let live: readonly LiveRange[] = [];
  let places: readonly number[] = [];
  for (const [index, back] of steps.entries()) {
    const seq = index + 1;
    if (back !== undefined && places.length > 0) {
      const target = places[back % places.length]!;
      live = liveWithin(live, 0, target);
      places = places.filter((place) => place <= target);
    }
    live = extendLive(live, seq);
    places = [...places, seq];
  }
  return { live, places };
};

const steps = fc.array(fc.option(fc.nat(), { freq: 3, nil: undefined }), { maxLength: 40 });
const placesOf = (ranges: readonly LiveRange[]): readonly number[] =>
  ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i));

describe('the live lineage', () => {
  test('[REW1] it grows as one range until a rewind, which begins a new range after the point', () => {
    expect(walk([undefined, undefined, undefined]).live).toEqual([[1, 3]]);
    const { live } = walk([undefined, undefined, undefined, undefined, 1, undefined]);
    expect(live).toEqual([
      [1, 2],
      [5, 6],
    ]);
    expect([1, 2, 3, 4, 5, 6, 7].filter((seq) => isLive(live, seq))).toEqual([1, 2, 5, 6]);
    expect([0, 1, 2, 3, 4, 5, 6, 9].map((seq) => liveAtOrBefore(live, seq))).toEqual([0, 1, 2, 2, 2, 5, 6, 6]);
    expect(liveWithin(live, 1, 5)).toEqual([
      [2, 2],
      [5, 5],
    ]);
    expect(liveWithin(live, 2, 4)).toEqual([]);
  });

  test('[REW1] a rewind to the head itself drops nothing', () => {
    expect(walk([undefined, undefined, 1]).live).toEqual([[1, 3]]);
  });

  test('[REW1] extending does not change its argument', () => {
    const before: readonly LiveRange[] = Object.freeze([Object.freeze([1, 3] as const)]);
    expect(extendLive(before, 4)).toEqual([[1, 4]]);
    expect(before).toEqual([[1, 3]]);
  });

  test('[REW1] after any rewinds it equals a plain set of live seqs', () => {
    fc.assert(
      fc.property(steps, fc.nat(45), fc.nat(45), (sequence, after, upTo) => {
        const { live, places } = walk(sequence);
        expect(placesOf(live)).toEqual(places);
        for (let seq = 0; seq <= sequence.length + 1; seq++) {
          expect(isLive(live, seq)).toBe(places.includes(seq));
          expect(liveAtOrBefore(live, seq)).toBe(places.findLast((place) => place <= seq) ?? 0);
        }
        expect(placesOf(liveWithin(live, after, upTo))).toEqual(places.filter((at) => after < at && at <= upTo));
      }),
    );
  });

  test('[REW1] the ranges stay separate and ascending, so that there are as few as possible', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const { live } = walk(sequence);
        for (const [i, [from, to]] of live.entries()) {
          expect(from).toBeLessThanOrEqual(to);
          if (i > 0) expect(from).toBeGreaterThan(live[i - 1]![1] + 1);
        }
      }),
    );
  });
});
