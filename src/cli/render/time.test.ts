import { expect, test } from 'vitest';
import { age, ago, isoTime, localDay, localTime } from './time.ts';

test('an age is shown in one unit', () => {
  const now = Date.UTC(2026, 5, 1);
  const ages = [0, 999, 40_000, 5 * 60_000, 3 * 3_600_000, 47 * 3_600_000, 3 * 86_400_000, 100 * 86_400_000, 9e10];
  expect(ages.map((ms) => age(now - ms, now))).toEqual([
    'now',
    'now',
    '40 s',
    '5 min',
    '3 h',
    '47 h',
    '3 d',
    '3 mo',
    '2 y',
  ]);
  expect(age(now + 5000, now)).toBe('now');
  expect(ago(now - 5000, now)).toBe('5 s ago');
});

test('a time beyond the calendar is shown as a number', () => {
  const beyond = Number.MAX_SAFE_INTEGER;
  expect([isoTime, localDay, localTime].map((write) => write(beyond))).toEqual(Array(3).fill(String(beyond)));
  expect(isoTime(0)).toBe('1970-01-01T00:00:00.000Z');
  expect(localDay(0)).toMatch(/^19(69-12-31|70-01-01)$/);
});
