import { expect, test } from 'vitest';
import { copyRecord } from './copy-record.ts';

test.each([
  ['with plain keys', { a: 1, b: { c: 2 } }],
  [
    'with keys that Object.prototype has too',
    JSON.parse('{ "__proto__": { "a": 1 }, "constructor": 2, "toString": 3 }'),
  ],
  ['with many keys', Object.fromEntries(['__proto__', ...Array(2000).keys()].map((key) => [key, { key }]))],
])('[STATE2] the copy of a record %s has equal entries and is independent', (_, record) => {
  const copy = copyRecord(Object.freeze(record) as Record<string, unknown>);
  expect(Object.entries(copy)).toEqual(Object.entries(record));
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  copy.new = true;
  expect(record).not.toHaveProperty('new');
});
