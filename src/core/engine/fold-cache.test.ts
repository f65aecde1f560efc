import { expect, test } from 'vitest';
import { FoldCache } from './fold-cache.ts';

const ofSize = (size: number) => ({ size, bytes: 0 });
const cacheOf = (sizes: readonly number[], limits = { sessions: 3, bytes: 100_000 }) => {
  const cache = new FoldCache<ReturnType<typeof ofSize>>(limits);
  for (const [at, size] of sizes.entries()) cache.set(`s${at}`, ofSize(size));
  return { cache, names: () => ['s0', 's1', 's2', 's3', 's4'].filter((name) => cache.get(name)) };
};

test('[FOLD8] folds in memory are bounded by their number', () => {
  const { cache, names } = cacheOf([1, 1, 1, 1]);
  expect(names()).toEqual(['s1', 's2', 's3']);
  expect(cache.size).toBe(3);
});

test('[FOLD8] folds in memory are bounded by their bytes, and the newest stays', () => {
  const { cache, names } = cacheOf([30_000, 30_000, 40_000]);
  expect(names()).toEqual(['s1', 's2']);
  expect(cache.bytes).toBeLessThanOrEqual(100_000);
  cache.set('s3', ofSize(1e9));
  expect(names()).toEqual(['s3']);
  cache.set('s4', ofSize(1));
  expect(names()).toEqual(['s4']);
  cache.delete('s4');
  expect(cache.bytes).toBe(0);
});

test('[FOLD8] the size of a fold is corrected when it was encoded', () => {
  const { cache, names } = cacheOf([80_000]);
  cache.measure('s0', 10_000);
  cache.measure('unknown', 10_000);
  cache.set('s1', ofSize(60_000));
  expect(names()).toEqual(['s0', 's1']);
  cache.set('s1', ofSize(60_000));
  cache.clear();
  expect([cache.size, cache.bytes]).toEqual([0, 0]);
});
