import { expect, test } from 'vitest';
import { exampleText } from './example-text.ts';

test('short values are on one line and long ones on several, and the JSON stays the same', () => {
  expect(exampleText({ a: [1, 'x'], b: {} })).toBe('{ "a": [1, "x"], "b": {} }');
  const long = { list: ['[ 1 ]', { text: 'word '.repeat(20) }, null], flag: true };
  expect(exampleText(long).split('\n').length).toBeGreaterThan(4);
  expect(JSON.parse(exampleText(long))).toEqual(long);
});
