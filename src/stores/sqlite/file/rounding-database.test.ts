import { describe, expect, onTestFinished, test } from 'vitest';
import { eachRow } from './each-row.ts';
import { RoundingDatabase } from './rounding-database.ts';

const openNumbers = (...numbers: readonly string[]) => {
  const db = new RoundingDatabase(':memory:');
  onTestFinished(() => db.close());
  db.exec('CREATE TABLE numbers (place INTEGER PRIMARY KEY, value INTEGER) STRICT');
  for (const [place, value] of numbers.entries()) db.exec(`INSERT INTO numbers VALUES (${place}, ${value})`);
  return db;
};

describe('numbers beyond 2^53', () => {
  const rows = [1, 2 ** 53, 2, -(2 ** 63), 3].map((value, place) => ({ place, value }));
  const open = () => openNumbers('1', '9007199254740993', '2', '-9223372036854775808', '3');

  test('[FAULT2] integers beyond 2^53 are rounded, and the other rows stay exact', () => {
    const db = open();
    const all = db.prepare('SELECT place, value FROM numbers ORDER BY place');
    const one = db.prepare('SELECT value FROM numbers WHERE place = ?');
    for (let time = 0; time < 2; time++) {
      expect(all.all().map((row) => ({ ...row }))).toEqual(rows);
      expect([...eachRow<object>(all)].map((row) => ({ ...row }))).toEqual(rows);
      expect(rows.map(({ place }) => one.get(place)?.value)).toEqual(rows.map(({ value }) => value));
      expect(one.get(99)).toBeUndefined();
    }
  });

  test('[FAULT2] integers beyond 2^53 are rounded in array rows too, even if not all rows are read', () => {
    const arrays = open().prepare('SELECT place, value FROM numbers ORDER BY place');
    arrays.setReturnArrays(true);
    const expected = rows.map(({ place, value }) => [place, value]);
    expect([...eachRow(arrays)]).toEqual(expected);
    expect([...eachRow(arrays).take(3)]).toEqual(expected.slice(0, 3));
    expect(arrays.get()).toEqual(expected[0]);
  });
});

test('errors of the engine are thrown unchanged', () => {
  const failing = openNumbers('1', '-9223372036854775808').prepare('SELECT abs(value) AS value FROM numbers');
  expect(() => failing.all()).toThrow('integer overflow');
  expect(() => [...eachRow(failing)]).toThrow('integer overflow');
});
