import { expect, test } from 'vitest';
import { shellWord, wrapCommand } from './wrap-command.ts';

test('[CLI29] a long command can be pasted from several lines', () => {
  expect(wrapCommand('perdure ls', 40)).toEqual(['perdure ls']);
  expect(wrapCommand(`perdure send --new 'Fix the failing test' --cwd .`, 30)).toEqual([
    'perdure send --new \\',
    `  'Fix the failing test' \\`,
    '  --cwd .',
  ]);
  expect(wrapCommand('perdure setup  # needs a person at a terminal', 38)).toEqual([
    'perdure setup \\',
    '  # needs a person at a terminal',
  ]);
});

test.each([
  "sqlite:/home/o'neil my work/of today/x.db",
  "it's 'quoted' and has a \\ too",
  "what it doesn't say: 'two words'",
  '"both" kinds, don\'t break',
])('[CLI29] a word is never broken, whatever it contains: %s', (text) => {
  const word = shellWord(text);
  const lines = wrapCommand(`perdure send ses_abcdefghijk TEXT --store ${word}`, 40, '  ');
  expect(lines.at(-1)).toBe(`    ${word}`);
});

test('[CLI14] an escaped quote does not end a double-quoted word', () => {
  const said = String.raw`"say \"well done\" now"`;
  expect(wrapCommand(`perdure append ses_x ${said} --json`, 20)).toEqual([
    'perdure append \\',
    '  ses_x \\',
    `  ${said} \\`,
    '  --json',
  ]);
});
