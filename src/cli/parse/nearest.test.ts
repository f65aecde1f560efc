import { expect, test } from 'vitest';
import { editDistance, nearest } from './nearest.ts';

test('the edit distance counts changed, missing, added and swapped letters', () => {
  expect(editDistance('open', 'open')).toBe(0);
  expect(editDistance('opne', 'open')).toBe(1);
  expect(editDistance('opn', 'open')).toBe(1);
  expect(editDistance('opens', 'open')).toBe(1);
  expect(editDistance('verfiy', 'verify')).toBe(1);
  expect(editDistance('', 'ls')).toBe(2);
});

test('the word with the smallest edit distance is suggested, and none if all distances are too large', () => {
  const known = ['open', 'reopen', 'archive', 'verify', 'ls'];
  expect(nearest('opne', known)).toBe('open');
  expect(nearest('arch', known)).toBe('archive');
  expect(nearest('l', known)).toBe('ls');
  expect(nearest('frobnicate', known)).toBeUndefined();
  expect(nearest('x'.repeat(100_000), known)).toBeUndefined();
});
