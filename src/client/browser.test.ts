import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { listValueImports } from '../../scripts/check-imports.ts';

/** All modules that a file loads, directly or indirectly: files by path, packages by name. */
const loadedWith = (file: string, found = new Set<string>()): ReadonlySet<string> => {
  if (found.has(file)) return found;
  found.add(file);
  if (!file.endsWith('.ts')) return found;
  for (const name of listValueImports(readFileSync(file, 'utf8'))) {
    loadedWith(name.startsWith('.') ? resolve(dirname(file), name) : name, found);
  }
  return found;
};

const packagesOf = (file: string): readonly string[] =>
  [...loadedWith(resolve(import.meta.dirname, file))].filter((name) => !name.startsWith('/'));

test('[CLIENT1] the client and everything it loads use no Node module, and only the packages zod and eventsource-parser', () => {
  expect(new Set(packagesOf('index.ts'))).toEqual(new Set(['zod', 'eventsource-parser']));
});

test('[CLIENT1] the import walk of these tests finds Node modules in the server, so it can fail', () => {
  expect(packagesOf('../servers/http/server.ts')).toEqual(expect.arrayContaining(['node:events', 'hono', 'mutative']));
});
