import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runPerdure } from '../perdure-command.ts';

const example = fileURLToPath(new URL('../../examples/log-at-work.ts', import.meta.url));
vi.setConfig({ testTimeout: 120_000 }); // several processes, perhaps on a busy machine
let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'perdure-at-work-'));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const runExample = () =>
  new Promise<{ code: number; out: string; err: string }>((resolve) => {
    const child = execFile(process.execPath, [example], { cwd }, (_, out, err) => {
      resolve({ code: child.exitCode ?? -1, out, err });
    });
  });

test('[LOG2, FORK1, FORK2, HASH4] the example shows the log at work, twice in a row, and what it says to try next works', async () => {
  await runExample();
  const { code, out, err } = await runExample();
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/✓ all [1-9][\d,]* acknowledged events are there, with the same hashes/);
  expect(out).toMatch(/✗ ses_\w+ {2}event 7 is bad/);
  expect(out.match(/✓/g)?.length).toBeGreaterThanOrEqual(10);
  for (const line of out.split('\n').filter((each) => !each.includes('$ ')))
    expect(line.length).toBeLessThanOrEqual(80);
  const [, next = ''] = out.split('Try next:');
  const store = /PERDURE_STORE=(\S+)/.exec(next)?.[1] ?? '';
  const calls = Array.from(next.matchAll(/bin\/perdure (.+)/g), ([, call]) => String(call).split(' '));
  expect(calls).toHaveLength(3);
  for (const call of calls) {
    expect(await runPerdure(call, { cwd, env: { PERDURE_STORE: store } })).toMatchObject({ code: 0, err: '' });
  }
  expect(readdirSync(cwd)).toEqual(['.perdure']);
});

test('the example fails where a claim does not hold', async () => {
  mkdirSync(join(cwd, '.perdure'));
  writeFileSync(join(cwd, '.perdure', 'demo.db'), Buffer.alloc(8192, 'noise'));
  const { code, err } = await runExample();
  expect(code).toBe(1);
  expect(err).toMatch(/✗ .*STORE_CORRUPT/s);
});
