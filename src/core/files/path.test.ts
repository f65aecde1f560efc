import { describe, expect, test } from 'vitest';
import { hostilePaths } from '../../../test/support/files/hostile-paths.ts';
import { parsePath } from './path.ts';

const onWindows = [
  'C:\\Windows',
  'c:x',
  'C:/x',
  '\\x',
  '\\\\server\\share\\x',
  '\\\\?\\C:\\x',
  '\\\\.\\pipe\\x',
  '..\\x',
  'a\\..\\..\\x',
  'a/..\\..\\x',
  'con',
  'NUL',
  'aux.txt',
  'a/com1',
  'LPT9.log',
  'com¹',
  'nul .txt',
  'CONOUT$',
  'a.',
  'a ',
  'file.txt:stream',
  'file::$DATA',
  'a*b',
  'a?b',
  'a|b',
  'a<b',
  'a"b',
  'a\u0001b',
];

describe('[FILE11] a path that leads out of a worktree is rejected', () => {
  test.each(hostilePaths)('%j', (path) => {
    for (const platform of ['linux', 'darwin', 'win32'] as const) {
      expect(parsePath(path, platform), platform).toHaveProperty('problem');
    }
  });
  test.each(onWindows)('on Windows %j', (path) => {
    expect(parsePath(path, 'win32')).toHaveProperty('problem');
    // On other systems it is an ordinary name inside the worktree.
    const parsed = parsePath(path, 'linux');
    if ('segments' in parsed) expect(parsed.segments.join('/')).toBe(path);
  });
});

test('[FILE11] a path inside the worktree is accepted in any notation', () => {
  const paths = { 'a/b.txt': 'a/b.txt', './a//b/': 'a/b', '...': '...', '..a': '..a', 'a..': 'a..', '-rf': '-rf' };
  for (const [path, name] of Object.entries(paths)) {
    expect(parsePath(path, 'linux')).toEqual({ segments: name.split('/') });
  }
  expect(parsePath('a\\b', 'win32')).toEqual({ segments: ['a', 'b'] });
  expect(parsePath('.', 'linux')).toEqual({ segments: [] });
});
