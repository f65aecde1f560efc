import { expect, test } from 'vitest';
import { RateLimit } from './rate-limit.ts';

test('[HTTP5] a key may send a burst without waiting, and then as many requests as its rate allows', () => {
  let now = 0;
  const limit = new RateLimit({ perSecond: 2, burst: 3 }, () => now);
  expect([1, 2, 3].map(() => limit.take('a'))).toEqual([undefined, undefined, undefined]);
  expect(limit.take('a')).toBe(1);
  expect(limit.take('b')).toBeUndefined();
  now += 500;
  expect(limit.take('a')).toBeUndefined();
  expect(limit.take('a')).toBe(1);
  now += 60_000;
  expect([1, 2, 3, 4].map(() => limit.take('a'))).toEqual([undefined, undefined, undefined, 1]);
});

test('[HTTP20] the memory of names that are no longer used is released', () => {
  const limit = new RateLimit({ perSecond: 1, burst: 1 }, () => 0);
  limit.take('first');
  for (let each = 0; each < 10_000; each++) limit.take(String(each));
  expect(limit.take('first')).toBeUndefined();
});
