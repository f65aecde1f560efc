import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { startPerdure } from '../support/cli/perdure-command.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const source = (path: string): string => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);

/** The tool `slow` reports progress until the file `go` exists. The tool `block` never gives the event loop back. */
const config = `
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from ${source('node_modules/zod/index.js')};
import { defineAgent, defineScript, defineTool } from ${source('src/index.ts')};
const slow = defineTool({
  name: 'slow', input: z.object({}), effects: 'idempotent',
  execute: async (_, { signal, progress }) => {
    while (!existsSync('go')) { progress('from ' + process.pid + '.'); await sleep(50, undefined, { signal }); }
    return 'went';
  },
});
const block = defineTool({
  name: 'block', input: z.object({}),
  execute: () => { writeFileSync('blocked', String(process.pid)); for (;;); },
});
const steps = [
  { when: { answers: 0, userMatches: 'slow' }, text: 'Now.', calls: [{ tool: 'slow', input: {} }] },
  { when: { answers: 0, userMatches: 'block' }, text: 'Now.', calls: [{ tool: 'block', input: {} }] },
  { text: 'Done.' },
];
const model = defineScript({ name: 'test', everyTurn: true, steps });
export default { agents: [defineAgent({ name: 'tester', version: 1, model, tools: [slow, block] })] };
`;

const serve = async (store: string, ...more: readonly string[]) => {
  const cwd = await mkdtemp(join(tmpdir(), 'perdure-serve-workers-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  await writeFile(join(cwd, 'perdure.config.ts'), config);
  const child = startPerdure(['serve', '--json', '--port', '0', '--store', store, ...more], { cwd });
  onTestFinished(() => void child.kill('SIGKILL'));
  let logged = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    logged += text;
  });
  const ended = once(child, 'exit').then(() => [JSON.stringify({ url: `ended: ${logged}` })]);
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  const { url, key } = JSON.parse(line as string) as { url: string; key: string };
  const ask = (path: string, body?: unknown): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect answers of every shape
  const json = async (path: string, body?: unknown): Promise<any> => (await ask(path, body)).json();
  const send = async (input: string): Promise<string> => {
    const { id } = await json('/v1/sessions', { agent: { name: 'tester' } });
    const { run } = await json(`/v1/sessions/${id}/runs`, { input });
    return `/v1/sessions/${id}/runs/${run}`;
  };
  const statusOf = async (run: string) => (await json(`${run}?wait=true`)).status;
  return { child, cwd, url, ask, send, statusOf, logged: () => logged };
};

/** The worker processes of a server. */
const workersOf = (pid: number | undefined): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(Number(name)) === pid)
    .map(Number);

const statOf = (pid: number): readonly string[] => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  } catch {
    return [];
  }
};
const parentOf = (pid: number): number => Number(statOf(pid)[1]);
/** Whether the process runs. A zombie does not. */
const isAlive = (pid: number): boolean => !['Z', 'X', undefined].includes(statOf(pid)[0]);
const patient = { timeout: 60_000, interval: 50 };

test.each(storeKinds)(
  '[PROC1, PROC2, PROC4, PROC5] on %s a killed worker process is restarted and finishes the run, whose progress the server streams',
  { timeout: 60_000 },
  async (kind) => {
    const place = await newStorePlace(kind);
    onTestFinished(place.remove);
    const { child, cwd, url, ask, send, statusOf, logged } = await serve(place.address, '--lease', '1s');
    const [first] = workersOf(child.pid);
    expect(workersOf(child.pid)).toHaveLength(1);
    const words = readFileSync(`/proc/${first}/cmdline`, 'utf8').split('\0');
    expect(words).toContain('worker');
    expect(words.join(' ')).not.toContain(place.address);
    const run = await send('slow');
    const heard = (await ask(`${run}/stream`)).body!.pipeThrough(new TextDecoderStream()).getReader();
    const hear = async (expected: string): Promise<void> => {
      for (let text = ''; !text.includes(expected); ) {
        const { done, value } = await heard.read();
        if (done) throw new Error(`the stream ended: ${text}`);
        text += value;
      }
    };
    await hear(`from ${first}.`);
    process.kill(first!, 'SIGKILL');
    await expect
      .poll(() => workersOf(child.pid).filter((pid) => pid !== first && isAlive(pid)), patient)
      .toHaveLength(1);
    await hear(`from ${workersOf(child.pid)[0]}.`);
    await writeFile(join(cwd, 'go'), '');
    expect(await statusOf(run)).toBe('succeeded');
    await heard.cancel();
    const metrics = async () => (await fetch(`${url}/metrics`)).text();
    await expect.poll(metrics, patient).toContain('perdure_runs_ended_total{status="succeeded"} 1');
    expect(await metrics()).toMatch(/^perdure_worker_restarts_total 1$/m);
    expect(await metrics()).toMatch(/^perdure_worker_processes 1$/m);
    expect(logged()).toMatch(/"msg":"worker process \d+ ended with signal SIGKILL; it is restarted in \d+ ms"/);
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ ok: true, workers: { count: 1, running: 1 } });
    const before = workersOf(child.pid);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(before.filter(isAlive)).toEqual([]);
  },
);

test('[PROC3] no worker process survives a killed server, even if a tool blocks its event loop', async () => {
  const place = await newStorePlace('sqlite');
  onTestFinished(place.remove);
  const { child, cwd, send } = await serve(place.address, '--workers', '2');
  const workers = workersOf(child.pid);
  expect(workers).toHaveLength(2);
  await send('block');
  await expect.poll(() => existsSync(join(cwd, 'blocked')), patient).toBe(true);
  child.kill('SIGKILL');
  await expect.poll(() => workers.filter(isAlive), patient).toEqual([]);
});

test('[PROC3] a second signal ends a server whose worker process is stuck', async () => {
  const place = await newStorePlace('sqlite');
  onTestFinished(place.remove);
  const { child, cwd, send } = await serve(place.address);
  const workers = workersOf(child.pid);
  await send('block');
  await expect.poll(() => existsSync(join(cwd, 'blocked')), patient).toBe(true);
  const gone = once(child, 'exit');
  child.kill('SIGINT');
  child.kill('SIGTERM');
  expect(await gone).toEqual([0, null]);
  expect(workers.filter(isAlive)).toEqual([]);
});

test('[PROC1] --workers 0 starts no worker process', async () => {
  const place = await newStorePlace('sqlite');
  onTestFinished(place.remove);
  const { child, url } = await serve(place.address, '--workers', '0');
  expect(workersOf(child.pid)).toEqual([]);
  expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ ok: true, workers: { count: 0, running: 0 } });
});
