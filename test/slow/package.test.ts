import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
let project: string;
let packed: string[];

const run = (command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'perdure-package-'));
  const report = run('npm', 'pack', checkout, '--json', '--loglevel=error');
  const [{ filename, files }] = JSON.parse(report.slice(report.indexOf('[')));
  packed = files.map((file: { path: string }) => file.path);
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  run('npm', 'install', `./${filename}`, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error');
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

test('the tarball holds the command, the build and the papers, nothing else', () => {
  const outside = packed.filter(
    (path) => !/^(bin|dist)\/|^(README|CHANGELOG)\.md$|^LICENSE$|^NOTICE$|^package\.json$/.test(path),
  );
  expect(outside).toEqual([]);
  expect(packed.filter((path) => /\.test\.|(?<!\.d)\.ts$/.test(path))).toEqual([]);
  expect(packed).toEqual(
    expect.arrayContaining(['bin/perdure', 'dist/index.js', 'dist/index.d.ts', 'LICENSE', 'README.md']),
  );
});

test('the installed command tells its version', () => {
  expect(run('npx', '--no-install', 'perdure', '--version').trim()).toBe(version);
});

test('the installed package opens a store', () => {
  writeFileSync(
    join(project, 'open.js'),
    `import { openRuntime } from 'perdure';
     import 'perdure/postgres';
     const runtime = await openRuntime({ store: 'sqlite:.perdure/perdure.db' });
     await runtime.close();
     console.log('opened');`,
  );
  expect(run('node', 'open.js').trim()).toBe('opened');
});

const resolutions = {
  nodenext: ['--module', 'nodenext'],
  bundler: ['--module', 'esnext', '--moduleResolution', 'bundler'],
};

test.each(Object.entries(resolutions))('the installed package brings its types, for %s', (_, options) => {
  const file = join(project, 'typed.ts');
  const tsc = join(checkout, 'node_modules', 'typescript', 'bin', 'tsc');
  const strict = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--target', 'esnext', '--ignoreConfig'];
  const check = (store: string) => {
    writeFileSync(
      file,
      `import { openRuntime } from 'perdure';
       import { openPostgresStore } from 'perdure/postgres';
       import { builtInTools } from 'perdure/tools';
       export const runtime = await openRuntime({ store: ${store} });
       export const parts = [openPostgresStore, builtInTools];`,
    );
    return run('node', tsc, ...strict, ...options, file);
  };
  expect(() => check(`'sqlite:a.db'`)).not.toThrow();
  expect(() => check('1')).toThrow();
});
