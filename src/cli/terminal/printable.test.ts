import { expect, test } from 'vitest';
import { printable, printableJson, printableLine, printableLines } from './printable.ts';

test('[CLI3] no terminal control sequence gets through', () => {
  expect(printable('a\u001b[31mb\u0007\u009b2J\u007f')).toBe('a\\x1b[31mb\\x07\\x9b2J\\x7f');
  expect(printable('\u202eevil\u2066\u2028')).toBe('\\u{202e}evil\\u{2066}\\u{2028}');
  expect(printable('a\u{e0041}b')).toBe('a\\u{e0041}b');
  const everyControl = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join('');
  for (const text of [printable(everyControl), printableLine(everyControl), ...printableLines(everyControl)]) {
    expect(text).toMatch(/^[ -~]*$/);
  }
});

test('letters of any script, emoji and their joiners are kept', () => {
  const text = 'Grüße, 漢字, שלום, 👩‍👩‍👧, क्‍ष, ✓';
  expect(printable(text)).toBe(text);
});

test('a single line keeps its words, and multiple lines keep their indentation', () => {
  expect(printableLine('  a\n\tb \r\n c ')).toBe('a b c');
  expect(printableLines('a\r\n\tb\rc')).toEqual(['a', '    b\\x0dc']);
});

test('[CLI3] printable JSON keeps the exact value and contains no control character', () => {
  const value = { 'k\u009b': ['\u001b]0;x\u0007', '\u007f\u0085\u2028\u202e', '\u{e0041}', 'ü 漢 👩‍👧'] };
  const json = printableJson(value);
  expect(JSON.parse(json)).toEqual(value);
  expect(json).toMatch(/^[^\p{Cc}\p{Zl}\u202e\u{e0041}]*$/u);
  expect(json).toContain('ü 漢 👩‍👧');
});
