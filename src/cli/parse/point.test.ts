import { expect, test } from 'vitest';
import { parsePlace } from '../names/place.ts';
import { parseCount, parsePoint } from './point.ts';

test('[PLACE1] a point is a turn, an attempt at a turn or an event, and a bare number is a turn', () => {
  expect(parsePoint('turn:3')).toEqual({ turn: 3 });
  expect(parsePoint('3')).toEqual({ turn: 3 });
  expect(parsePoint('seq:17')).toEqual({ seq: 17 });
  expect(parsePoint('turn:0')).toEqual({ turn: 0 });
  expect(parsePoint('turn:5#1')).toEqual({ turn: 5, attempt: 1 });
  expect(parsePoint('5#2')).toEqual({ turn: 5, attempt: 2 });
});

test('[CLI1] an invalid point is reported as a wrong call that says what a point is', () => {
  for (const text of [
    '',
    'turn',
    'turn:',
    'turn:-1',
    'turn:5#',
    'turn:5#-1',
    '#1',
    'seq:5#1',
    'seq:1.5',
    'event:3',
    '3 ',
    'seq:0x10',
    `seq:${'9'.repeat(16)}`,
  ]) {
    expect(() => parsePoint(text)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    expect(() => parsePoint(text)).toThrow(/turn:3/);
  }
});

test('[CLI1, CLI11] events count from 1, and turn 0 is before the first turn', () => {
  expect(() => parsePoint('seq:0')).toThrow(/^"seq:0" is not an event.*: name seq:1, or turn:0/);
  expect(() => parsePlace('seq:0')).toThrow(/^"seq:0" is not an event/);
});

test('[CLI1] a count is a whole number within its bounds', () => {
  expect(parseCount('--limit', '5', 1)).toBe(5);
  expect(parseCount('--limit', undefined, 1)).toBeUndefined();
  for (const text of ['0', '-1', '1e3', 'x', '', ' 5']) {
    expect(() => parseCount('--limit', text, 1)).toThrow(/--limit is a whole number, 1 or more/);
  }
});
