import fc from 'fast-check';
import { expect, test } from 'vitest';
import { displayWidth } from '../terminal/display-width.ts';
import { FlowingText } from './flowing-text.ts';

const flow = (pieces: readonly string[], columns: number): string => {
  const text = new FlowingText(columns);
  return pieces.map((piece) => text.feed(piece)).join('') + text.end();
};

test('[CLIR6] a word that arrives in pieces is wrapped as one word', () => {
  expect(flow(['Hel', 'lo wor', 'ld, how ', 'are you?'], 12)).toBe('Hello world,\nhow are you?\n');
  expect(flow(['one\n', '\ntwo\r', '\nthree'], 12)).toBe('one\n\ntwo\nthree\n');
});

test('[CLIR6] however text is split into pieces, lines fit and every visible character appears once', () => {
  const pieces = fc.array(fc.string({ unit: 'grapheme', maxLength: 30 }), { maxLength: 20 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 10, max: 40 }), (given, columns) => {
      const shown = flow(given, columns);
      for (const line of shown.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
      expect(shown.replace(/\s/g, '')).toBe(flow([given.join('')], columns).replace(/\s/g, ''));
    }),
  );
});

test('[CLIR6] a terminal control sequence is shown as an escape, even when it arrives in pieces', () => {
  expect(flow(['a\u001b', '[2Jb\u009b', '31m'], 80)).toBe('a\\x1b[2Jb\\x9b31m\n');
});
