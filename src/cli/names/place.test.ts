import { expect, test } from 'vitest';
import { parsePlace } from './place.ts';

const branch = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a';

test('[CLI1] a place is a point, an attempt at a turn, or another branch with or without a point', () => {
  expect(parsePlace('turn:3')).toEqual({ turn: 3 });
  expect(parsePlace('3')).toEqual({ turn: 3 });
  expect(parsePlace('0')).toEqual({ turn: 0 });
  expect(parsePlace('seq:17')).toEqual({ seq: 17 });
  expect(parsePlace('turn:5#2')).toEqual({ turn: 5, attempt: 2 });
  expect(parsePlace('5#1')).toEqual({ turn: 5, attempt: 1 });
  expect(parsePlace(branch)).toEqual({ session: branch });
  expect(parsePlace(`${branch}@turn:3`)).toEqual({ session: branch, turn: 3 });
  expect(parsePlace(`${branch}@seq:9`)).toEqual({ session: branch, seq: 9 });
  expect(parsePlace(`${branch}@turn:5#2`)).toEqual({ session: branch, turn: 5, attempt: 2 });
});

test('[CLI7] another branch may be named by a prefix or suffix of its id, but a plain number is a turn', () => {
  expect(parsePlace('t0y1a')).toEqual({ session: 't0y1a' });
  expect(parsePlace('01jd3v@turn:3')).toEqual({ session: '01jd3v', turn: 3 });
  expect(parsePlace('01j')).toEqual({ session: '01j' });
  expect(parsePlace('ses_x')).toEqual({ session: 'ses_x' });
  expect(parsePlace('1234@3')).toEqual({ session: '1234', turn: 3 });
  expect(parsePlace('-@seq:9')).toEqual({ session: '-', seq: 9 });
  expect(parsePlace('1234')).toEqual({ turn: 1234 });
});

test('[CLI1] an invalid place is reported as a wrong call, with the valid forms', () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['', /write turn:3/],
    ['now', /write turn:3/],
    ['y1a', /write turn:3/],
    ['seq:5#2', /write turn:3/],
    ['turn:5#', /write turn:3/],
    ['turn:5#0', /count from 1/],
    ['turn:0#1', /count from 1/],
    ['ses_', /names no session/],
    [`${branch}@`, /write turn:3/],
    [`${branch}@3@4`, /more than one point/],
    [`${branch}@turn:5#0`, /count from 1/],
    [`${branch}@seq:5#2`, /write turn:3/],
  ];
  for (const [text, message] of wrong) {
    expect(() => parsePlace(text), text).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    expect(() => parsePlace(text), text).toThrow(message);
  }
});
