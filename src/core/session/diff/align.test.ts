import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lastOf } from '../state/patch-between.ts';
import { alignSteps, type Pair } from './align.ts';
import { wordSteps } from './word-diff.ts';

const align = (before: readonly string[], after: readonly string[], kindOf?: (item: string) => string) =>
  lastOf(alignSteps(before, after, (item) => item, kindOf));
const letters = fc.array(fc.constantFrom('a', 'b', 'c', 'd1', 'd2', 'd3'), { maxLength: 30 });
const beforeOf = (pairs: readonly Pair<string>[]) => pairs.flatMap(({ before }) => before ?? []);
const afterOf = (pairs: readonly Pair<string>[]) => pairs.flatMap(({ after }) => after ?? []);

describe('an alignment', () => {
  test('[DIFF6] names each item of both lists once, in order', () => {
    fc.assert(
      fc.property(letters, letters, (before, after) => {
        const pairs = align(before, after, (item) => item[0]!);
        expect(beforeOf(pairs)).toEqual(before);
        expect(afterOf(pairs)).toEqual(after);
        for (const pair of pairs) if (pair.before && pair.after) expect(pair.before[0]).toBe(pair.after[0]);
      }),
    );
  });

  test('[DIFF6] is the same whatever equal items come before both lists', () => {
    fc.assert(
      fc.property(letters, letters, letters, (unrelated, before, after) => {
        const kindOf = (item: string) => item[0]!;
        const pairs = align([...unrelated, ...before], [...unrelated, ...after], kindOf);
        expect(pairs.slice(unrelated.length)).toEqual(align(before, after, kindOf));
      }),
    );
  });

  test('[DIFF6] prefers equal items over items of the same kind', () => {
    expect(align(['test 1', 'edit', 'test 2'], ['edit', 'test 2'], (item) => item.slice(0, 4))).toEqual([
      { before: 'test 1' },
      { before: 'edit', after: 'edit' },
      { before: 'test 2', after: 'test 2' },
    ]);
    expect(align(['x1', 'y'], ['x2', 'y'], (item) => item[0]!)).toEqual([
      { before: 'x1', after: 'x2' },
      { before: 'y', after: 'y' },
    ]);
  });

  test.each([
    ['few different items', (n: number) => `${n % 3}`],
    ['many different items', (n: number) => `${n}`],
  ])('[DIFF6] of long lists with %s is found in bounded time', (_, itemAt) => {
    const list = Array.from({ length: 20_000 }, (_, n) => itemAt(n));
    const pairs = align(['only before', ...list.slice(0, 9000), ...list], [...list.slice(5), 'only after']);
    expect(beforeOf(pairs)).toHaveLength(29_001);
    expect(pairs.filter(({ before, after }) => before && after).length).toBeGreaterThan(15_000);
  });
});

describe('a word diff', () => {
  test('[DIFF5] gives both texts back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (before, after) => {
        const parts = lastOf(wordSteps(before, after));
        const without = (change: string) => parts.flatMap((part) => (part.change === change ? [] : part.text)).join('');
        expect([without('added'), without('removed')]).toEqual([before, after]);
      }),
    );
  });

  test('[DIFF5] compares whole words', () => {
    expect(lastOf(wordSteps('It uses port 8080.', 'It uses port 9090 now.'))).toEqual([
      { text: 'It uses port ', change: 'same' },
      { text: '8080', change: 'removed' },
      { text: '9090 now', change: 'added' },
      { text: '.', change: 'same' },
    ]);
  });
});
