import { expect, test } from 'vitest';
import { findImportProblems } from './check-imports.ts';

const problemsOf = (files: Record<string, string>) =>
  findImportProblems(new Map(Object.entries(files)), new Set(['zod', 'pg', '@scope/kit']));

test.each([
  ['src/schema/event.ts', `import { z } from 'zod';\nimport { a } from './ids.ts';`],
  ['src/core/session/fold.ts', `import type { Event } from '../../schema/event.ts';`],
  ['src/core/service/open.ts', `import { fold } from '../session/fold.ts';\nimport '../ports/store.ts';`],
  ['src/stores/sqlite/open.ts', `import { a } from '../shared.ts';\nimport { b } from '../../core/session/fold.ts';`],
  ['src/stores/postgres/open.ts', `import pg from 'pg';\nimport kit from '@scope/kit/part';`],
  ['src/cli/main.ts', `import { openRuntime } from '../runtime.ts';\nimport manifest from '../../package.json';`],
  ['src/index.ts', `export * from './runtime.ts';\nexport { a } from './stores/sqlite/open.ts';`],
  ['src/core/session/fold.test.ts', `import { a } from '../../stores/sqlite/open.ts';\nimport 'vitest';`],
  ['src/client/run.ts', `import type { Run } from '../core/service/runs.ts';\nimport { a } from '../schema/ids.ts';`],
  ['dashboard/app.tsx', `import { a } from '../src/client/client.ts';\nimport React from 'react';`],
])('%s has allowed imports', (path, text) => {
  expect(problemsOf({ [path]: text })).toEqual([]);
});

test.each([
  ['src/schema/event.ts', `import { a } from '../core/ports/store.ts';`, 'may not import src/core/ports/store.ts'],
  ['src/schema/event.ts', `import { createHash } from 'node:crypto';`, 'may not import node:crypto'],
  ['src/schema/event.ts', `import pg from 'pg';`, 'the only package allowed here is zod'],
  [
    'src/core/ports/store.ts',
    `import {\n  a,\n} from '../session/fold.ts';`,
    'may not import src/core/session/fold.ts',
  ],
  ['src/core/service/open.ts', `import { a } from '../../stores/sqlite/open.ts';`, 'may not import src/stores/sqlite'],
  ['src/stores/sqlite/open.ts', `export * from '../postgres/open.ts';`, 'may not import src/stores/postgres/open.ts'],
  ['src/stores/postgres/open.ts', `await import('../sqlite/open.ts');`, 'may not import src/stores/sqlite/open.ts'],
  ['src/stores/sqlite/open.ts', `import { a } from '../../core/service/open.ts';`, 'may not import src/core/service'],
  ['src/servers/http/app.ts', `import { a } from '../../core/session/fold.ts';`, 'may not import src/core/session'],
  ['src/client/client.ts', `import { readFile } from 'node:fs/promises';`, 'runs in browsers too'],
  [
    'src/client/run.ts',
    `import type { A } from '../core/service/a.ts';\nimport { type B } from '../core/service/b.ts';`,
    'may not import src/core/service/b.ts',
  ],
  [
    'src/client/run.ts',
    `import type { A } from '../core/service/a.ts';\nimport { a } from '../core/service/a.ts';`,
    'may not import src/core/service/a.ts',
  ],
  ['src/testing/index.ts', `import { a } from '../stores/sqlite/open.ts';`, 'may not import src/stores/sqlite/open.ts'],
  ['src/cli/main.ts', `import { a } from '../stores/sqlite/open.ts';`, 'may not import src/stores/sqlite/open.ts'],
  ['src/cli/main.ts', `type A = import('../core/ports/store.ts').Store;`, 'may not import src/core/ports/store.ts'],
  ['src/runtime.ts', `import { a } from '../test/postgres.ts';`, 'may not import test/postgres.ts'],
  ['src/runtime.ts', `import fc from 'fast-check';`, 'not a dependency of the published package'],
  ['src/stores/sqlite/open.ts', `new URL('./worker.ts', import.meta.url)`, 'names ./worker.ts by URL'],
  ['src/elsewhere/file.ts', ``, 'belongs to no part'],
])('%s with %j is a problem', (path, text, problem) => {
  expect(problemsOf({ [path]: text })).toEqual([expect.stringContaining(problem)]);
});

test('a cycle is reported once, with its path; a type-only import closes it too', () => {
  const files = {
    'src/schema/a.ts': `import { b } from './b.ts';`,
    'src/schema/b.ts': `import { c } from './c.ts';`,
    'src/schema/c.ts': `import type { B } from './b.ts';`,
  };
  expect(problemsOf(files)).toEqual(['cycle: src/schema/b.ts → src/schema/c.ts → src/schema/b.ts']);
});
