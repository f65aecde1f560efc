import { expect, test } from 'vitest';
import { parseMoment, parseTurns } from './moment.ts';

const now = Date.UTC(2026, 2, 8, 12);

test('[CLI1] a moment is a duration ago or a date', () => {
  const at = (text: string) => new Date(parseMoment('--since', text, now)!).toISOString();
  expect(at('7d')).toBe('2026-03-01T12:00:00.000Z');
  expect(at('24h')).toBe('2026-03-07T12:00:00.000Z');
  expect(at('30min')).toBe('2026-03-08T11:30:00.000Z');
  expect(at('90 s')).toBe('2026-03-08T11:58:30.000Z');
  expect(at('1w')).toBe('2026-03-01T12:00:00.000Z');
  expect(at('2026-03-01')).toBe('2026-03-01T00:00:00.000Z');
  expect(at('2026-03-01T09:30Z')).toBe('2026-03-01T09:30:00.000Z');
  expect(at('2026-03-01T09:30:15.5+01:00')).toBe('2026-03-01T08:30:15.500Z');
  expect(parseMoment('--since', undefined, now)).toBeUndefined();
});

test('[CLI1] any other moment is a wrong call that names the option', () => {
  for (const text of ['', '7', 'd', '7 days', '-7d', '1e3d', 'yesterday', '2026-13-01', '2026-3-1', '01/03/2026']) {
    expect(() => parseMoment('--until', text, now), text).toThrow(/--until is a date such as/);
  }
});

test('[CLI1] a range of turns may be open at either end', () => {
  expect(parseTurns('--turns', '3-7')).toEqual({ from: 3, to: 7 });
  expect(parseTurns('--turns', '3-')).toEqual({ from: 3 });
  expect(parseTurns('--turns', '-7')).toEqual({ to: 7 });
  expect(parseTurns('--turns', '3')).toEqual({ from: 3, to: 3 });
  expect(parseTurns('--turns', '30')).toEqual({ from: 30, to: 30 });
  expect(parseTurns('--turns', undefined)).toBeUndefined();
  for (const text of ['', '-', '7-3', 'a-b', '1-2-3', '1..2']) {
    expect(() => parseTurns('--turns', text), text).toThrow(/--turns is a range of turns/);
  }
});
