import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

const folder = fileURLToPath(new URL('../../examples', import.meta.url));
/** Has tests of its own. */
const testedElsewhere = ['log-at-work.ts'];
const examples = readdirSync(folder).filter((name) => name.endsWith('.ts') && !testedElsewhere.includes(name));

vi.setConfig({ testTimeout: 120_000 }); // processes, perhaps on a busy machine
let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'perdure-examples-'));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const run = (example: string) =>
  new Promise<{ code: number; out: string; err: string }>((resolve) => {
    const child = execFile(process.execPath, [join(folder, example)], { cwd }, (_, out, err) => {
      resolve({ code: child.exitCode ?? -1, out, err });
    });
  });

/** What an example must have told. */
const tells: Readonly<Record<string, readonly RegExp[]>> = {
  'foreign-loop.ts': [
    /runTests {3}threw {2}[\d.]+ ms/,
    /turn 1 {2}\/filesModified\/auth\.ts {2}by writeFile {2}\(25 characters\)/,
  ],
};

test.each(examples)('[TRACK1] %s runs, tells what it should and leaves nothing behind', async (example) => {
  const { code, out, err } = await run(example);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  for (const told of tells[example] ?? []) expect(out).toMatch(told);
  for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  expect(readdirSync(cwd)).toEqual([]);
});
