import { expect, test } from 'vitest';
import { wrapCommand } from './wrap-command.ts';

test('[CLI14] a command that is too long for a line can be pasted from several', () => {
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
