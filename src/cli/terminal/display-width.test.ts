import { expect, test } from 'vitest';
import { displayWidth, padEnd, padStart, truncate, truncateStart, wrap } from './display-width.ts';

test('wide characters take two columns and combining marks none', () => {
  expect([...['abc', '漢字', 'e\u0301', '👩‍👩‍👧', '❤️', 'ｱ', ''].map(displayWidth)]).toEqual([3, 4, 1, 2, 2, 1, 0]);
});

test('a text is truncated with an ellipsis, never within a character', () => {
  expect(truncate('abcdef', 6)).toBe('abcdef');
  expect(truncate('abcdef', 5)).toBe('abcd…');
  expect(truncate('漢字漢字', 5)).toBe('漢字…');
  expect(truncate('漢字漢字', 6)).toBe('漢字…');
  expect(truncate('abc', 1)).toBe('…');
  expect(truncate('abc', 0)).toBe('');
  expect(truncate('abc', Number.POSITIVE_INFINITY)).toBe('abc');
});

test('truncateStart keeps the end of a text', () => {
  expect(truncateStart('abcdef', 6)).toBe('abcdef');
  expect(truncateStart('abcdef', 5)).toBe('…cdef');
  expect(truncateStart('漢字漢字', 6)).toBe('…漢字');
  expect(truncateStart('abc', 1)).toBe('…');
  expect(truncateStart('abc', 0)).toBe('');
});

test('padding counts display columns', () => {
  expect(padEnd('漢', 4)).toBe('漢  ');
  expect(padStart('漢', 4)).toBe('  漢');
  expect(padEnd('long', 2)).toBe('long');
});

test('lines break between words, or within words that are too long, and lose only spaces', () => {
  expect(wrap('one two three', 8)).toEqual(['one two', 'three']);
  expect(wrap('    indented words', 12)).toEqual(['    indented', 'words']);
  expect(wrap('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
  expect(wrap('x abcdefghij y', 4)).toEqual(['x', 'abcd', 'efgh', 'ij y']);
  expect(wrap('漢字漢字', 4)).toEqual(['漢字', '漢字']);
  expect(wrap('ls cat|diff|put|get, x', 10)).toEqual(['ls', 'cat|diff|', 'put|get, x']);
  expect(wrap('', 10)).toEqual(['']);
  const text = 'The quick brown 漢字 fox jumps over the lazy_lazy_lazy_lazy_dog  twice';
  for (const width of [2, 5, 9, 20, 200]) {
    const lines = wrap(text, width);
    expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
  }
});
