import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

let project: string;
const write = (path: string, content: unknown) =>
  writeFileSync(join(project, path), typeof content === 'string' ? content : JSON.stringify(content));
const runCheck = (name: string) => {
  const script = fileURLToPath(new URL(`check-${name}.ts`, import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { cwd: project, encoding: 'utf8' });
  return { status, stdout, stderr };
};

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'perdure-checks-'));
  for (const folder of ['src/schema', 'bench/peers']) mkdirSync(join(project, folder), { recursive: true });
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

test('a sound project passes every check with one line', () => {
  const exports = { '.': { types: './dist/index.d.ts', default: './dist/index.js' } };
  const manifest = { name: 'sound', version: '1.0.0', type: 'module', bin: {}, exports, files: [] };
  write('package.json', manifest);
  write('package-lock.json', { packages: { '': { name: 'sound', version: '1.0.0', bin: {} } } });
  write('bench/peers/package.json', { name: 'peers' });
  write('bench/peers/package-lock.json', { packages: { '': { name: 'peers' } } });
  write('SPEC.md', '- **LOG1** A rule.\n');
  write('src/schema/ids.ts', 'export const a = 1;\n');
  write('src/index.ts', `export { a } from './schema/ids.ts';\n`);
  write('src/index.test.ts', `test('[LOG1] …');\n`);
  const fine = (stdout: string) => ({ status: 0, stdout, stderr: '' });
  expect(runCheck('spec')).toEqual(fine('spec: 1 rules, each cited by a test\n'));
  expect(runCheck('imports')).toEqual(fine('imports: 3 files, directions kept, no cycles\n'));
  expect(runCheck('exports')).toEqual(fine('exports: 1 subpaths load\n'));
  expect(runCheck('lock')).toEqual(fine('lock: 0 packages, whole\n'));
});

test('a broken project fails every check with a list', () => {
  write('package-lock.json', { packages: { '': { name: 'sound', version: '0.9.0', bin: {} } } });
  write('src/schema/ids.ts', `import 'node:fs';\n`);
  write('src/index.test.ts', '');
  const broken = (problem: string) => ({ status: 1, stdout: '', stderr: expect.stringContaining(problem) });
  expect(runCheck('spec')).toEqual(broken('spec: 1 problem\n  LOG1 is cited by no test\n'));
  expect(runCheck('imports')).toEqual(broken('imports: 1 problem\n  src/schema/ids.ts may not import node:fs'));
  expect(runCheck('exports')).toEqual(broken('exports: 1 problem\n  src/index.ts does not load: SyntaxError'));
  expect(runCheck('lock')).toEqual(broken('lock: 1 problem\n  "version" differs'));
});
