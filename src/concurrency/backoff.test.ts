import { expect, test } from 'vitest';
import { backoffMs } from './backoff.ts';

const delays = (fixed: number, chance: number) =>
  [1, 2, 3, 4, 5000].map((failures) => backoffMs(failures, { firstMs: 100, maxMs: 500, fixed }, () => chance));

test('a delay doubles with every failure, up to its maximum', () => {
  expect(delays(1, 0)).toEqual([100, 200, 400, 500, 500]);
  expect(backoffMs(5000, { firstMs: 0, maxMs: 500 }, () => 1)).toBe(0);
});

test('jitter shortens a delay by at most the share that is not fixed', () => {
  expect(delays(0, 0.5)).toEqual([50, 100, 200, 250, 250]);
  expect(delays(0.5, 0)).toEqual([50, 100, 200, 250, 250]);
  expect(delays(0.5, 1)).toEqual([100, 200, 400, 500, 500]);
});
