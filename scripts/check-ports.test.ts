import { expect, test } from 'vitest';
import { findPortProblems } from './check-ports.ts';

const problemsOf = (path: string, text: string, exceptions: Record<string, string> = {}) =>
  findPortProblems(new Map([[path, text]]), exceptions);

test.each([
  `import { setTimeout as sleep } from 'node:timers/promises';`,
  'const timer = setInterval(look, 10);',
  'setImmediate(look);',
  'const now = Date.now();',
  'const now = new Date();',
  'const startedAt = performance.now();',
  'const signal = AbortSignal.timeout(10);',
  'const delay = Math.random() * 10;',
  `import { randomBytes } from 'node:crypto';`,
  'const name = crypto.randomUUID();',
  'const clock = systemTimekeeper();',
])('%s is a problem in the core', (text) => {
  expect(problemsOf('src/core/engine/a.ts', `\n${text}`)).toContainEqual(
    expect.stringContaining('src/core/engine/a.ts:2 uses '),
  );
});

test.each([
  ['src/core/engine/a.ts', 'const text = new Date(clock.now()).toISOString(); await clock.sleep(10);'],
  ['src/core/ports/clock.ts', 'const now = Date.now();'],
  ['src/core/engine/a.test.ts', 'const now = Date.now();'],
  ['src/stores/log/a.ts', 'const now = Date.now();'],
])('%s may hold: %s', (path, text) => {
  expect(problemsOf(path, text)).toEqual([]);
});

test('an exception covers its folder or file, and an unused exception is a problem', () => {
  const now = 'const now = Date.now();';
  expect(problemsOf('src/core/files/disk/a.ts', now, { 'src/core/files/disk/': 'real files' })).toEqual([]);
  expect(problemsOf('src/core/vault/a.ts', now, { 'src/core/vault/a.ts': 'keys' })).toEqual([]);
  expect(problemsOf('src/core/vault/a.ts', 'const a = 1;', { 'src/core/vault/a.ts': 'keys' })).toEqual([
    expect.stringContaining('nothing needs'),
  ]);
});
