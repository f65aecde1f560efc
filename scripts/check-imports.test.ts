import { expect, test } from 'vitest';
import { findEmptyParts, findImportProblems } from './check-imports.ts';
import { readFiles } from './read-files.ts';

const problemsOf = (files: Record<string, string>) =>
  findImportProblems(new Map(Object.entries(files)), new Set(['zod', 'pg', '@scope/kit']));

test.each([
  ['src/schema/event.ts', `import { z } from 'zod';\nimport { a } from './ids.ts';`],
  ['src/core/session/fold.ts', `import type { Event } from '../../schema/event.ts';`],
  ['src/core/sessions/open.ts', `import { fold } from '../session/fold.ts';\nimport '../ports/store.ts';`],
  ['src/stores/sqlite/open.ts', `import { a } from '../shared.ts';\nimport { b } from '../../core/session/fold.ts';`],
  ['src/stores/postgres/open.ts', `import pg from 'pg';\nimport kit from '@scope/kit/part';`],
  ['src/cli/main.ts', `import { openRuntime } from '../runtime.ts';\nimport manifest from '../../package.json';`],
  ['src/index.ts', `export * from './runtime.ts';\nexport { a } from './stores/sqlite/open.ts';`],
  ['src/core/session/fold.test.ts', `import { a } from '../../stores/sqlite/open.ts';\nimport 'vitest';`],
  ['src/client/run.ts', `import type { Run } from '../core/runs/runs.ts';\nimport { a } from '../schema/ids.ts';`],
  ['src/client/run.ts', `import { Mutex } from '../concurrency/mutex.ts';`],
])('%s has allowed imports', (path, text) => {
  expect(problemsOf({ [path]: text })).toEqual([]);
});

test.each([
  ['src/schema/event.ts', `import { a } from '../core/ports/store.ts';`, 'may not import src/core/ports/store.ts'],
  ['src/schema/event.ts', `import { createHash } from 'node:crypto';`, 'may not import node:crypto'],
  ['src/schema/event.ts', `import pg from 'pg';`, 'the only package allowed here is zod'],
  ['src/schema/event.ts', `import { a } from '../concurrency/mutex.ts';`, 'may not import src/concurrency/mutex.ts'],
  ['src/concurrency/mutex.ts', `import { a } from '../schema/ids.ts';`, 'may not import src/schema/ids.ts'],
  ['src/concurrency/mutex.ts', `import { a } from 'node:timers/promises';`, 'runs in browsers too'],
  [
    'src/core/ports/store.ts',
    `import {\n  a,\n} from '../session/fold.ts';`,
    'may not import src/core/session/fold.ts',
  ],
  ['src/core/sessions/open.ts', `import { a } from '../../stores/sqlite/open.ts';`, 'may not import src/stores/sqlite'],
  ['src/stores/sqlite/index.ts', `export * from '../postgres/open.ts';`, 'may not import src/stores/postgres/open.ts'],
  ['src/stores/postgres/open.ts', `await import('../sqlite/open.ts');`, 'may not import src/stores/sqlite/open.ts'],
  ['src/stores/sqlite/open.ts', `import { a } from '../../core/sessions/open.ts';`, 'may not import src/core/sessions'],
  ['src/servers/http/app.ts', `import { a } from '../../stores/release.ts';`, 'may not import src/stores/release.ts'],
  ['src/core/engine/a.ts', `import { a } from '../runs/send.ts';`, 'may not import src/core/runs/send.ts'],
  ['src/core/engine/a.ts', `import { a } from '../access/guard.ts';`, 'may not import src/core/access/guard.ts'],
  ['src/core/state/a.ts', `import { a } from '../context/context.ts';`, 'may not import src/core/context/context.ts'],
  ['src/core/runs/a.ts', `import { a } from '../worker/worker.ts';`, 'may not import src/core/worker/worker.ts'],
  [
    'src/cli/parse/a.ts',
    `import { a } from '../commands/runs/send.ts';`,
    'may not import src/cli/commands/runs/send.ts',
  ],
  ['src/stores/log/a.ts', `import { a } from '../sqlite/index.ts';`, 'may not import src/stores/sqlite/index.ts'],
  ['src/schema/state.ts', `export { a } from './pointer.ts';`, 're-exports ./pointer.ts'],
  ['src/client/client.ts', `import { readFile } from 'node:fs/promises';`, 'runs in browsers too'],
  [
    'src/client/run.ts',
    `import type { A } from '../core/runs/a.ts';\nimport { type B } from '../core/runs/b.ts';`,
    'may not import src/core/runs/b.ts',
  ],
  [
    'src/client/run.ts',
    `import type { A } from '../core/runs/a.ts';\nimport { a } from '../core/runs/a.ts';`,
    'may not import src/core/runs/a.ts',
  ],
  ['src/testing/index.ts', `import { a } from '../stores/sqlite/open.ts';`, 'may not import src/stores/sqlite/open.ts'],
  ['src/cli/main.ts', `import { a } from '../stores/sqlite/open.ts';`, 'may not import src/stores/sqlite/open.ts'],
  ['src/cli/main.ts', `type A = import('../core/ports/store.ts').Store;`, 'may not import src/core/ports/store.ts'],
  [
    'src/runtime.ts',
    `import { a } from '../test/support/postgres/postgres.ts';`,
    'may not import test/support/postgres/postgres.ts',
  ],
  ['src/runtime.ts', `import fc from 'fast-check';`, 'not a dependency of the published package'],
  ['src/stores/sqlite/open.ts', `new URL('./worker.ts', import.meta.url)`, 'names ./worker.ts by URL'],
  ['src/elsewhere/file.ts', ``, 'belongs to no part'],
])('%s with %j is a problem', (path, text, problem) => {
  expect(problemsOf({ [path]: text })).toEqual([expect.stringContaining(problem)]);
});

test('at least one file belongs to every entry of the table', () => {
  expect(findEmptyParts([...readFiles('src/**/*.ts').keys()])).toEqual([]);
  expect(findEmptyParts(['src/schema/ids.ts'])).toContainEqual(expect.stringContaining('src/core/engine/ is'));
});

test('a cycle is reported once, with its path; a type-only import closes it too', () => {
  const files = {
    'src/schema/a.ts': `import { b } from './b.ts';`,
    'src/schema/b.ts': `import { c } from './c.ts';`,
    'src/schema/c.ts': `import type { B } from './b.ts';`,
  };
  expect(problemsOf(files)).toEqual(['cycle: src/schema/b.ts → src/schema/c.ts → src/schema/b.ts']);
});
