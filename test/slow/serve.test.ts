import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { startPerdure } from '../support/cli/perdure-command.ts';
import { startCollector } from '../support/runs/span-collector.ts';

interface Serving {
  readonly process: ChildProcess;
  readonly url: string;
  readonly key?: string;
}

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-serve-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const serve = async (cwd: string, ...args: readonly string[]): Promise<Serving> => {
  const child = startPerdure(['serve', '--json', ...args], { cwd });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(([code]) => [JSON.stringify({ url: `ended with ${code}` })]),
  ])) as [string];
  return { process: child, ...(JSON.parse(line) as { url: string; key?: string }) };
};

// biome-ignore lint/suspicious/noExplicitAny: tests inspect answers of every shape
const ask = async (url: string, key: string | undefined, path: string, body?: unknown): Promise<any> => {
  const response = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return response.json();
};

test('[HTTP10] the first start shows a key once and answers runs; after a signal has stopped the server, the next start continues with its data', async () => {
  const folder = await newFolder();
  const first = await serve(folder, '--port', '0');
  expect(first.key).toMatch(/^pdk_local\./);
  const { id } = await ask(first.url, first.key, '/v1/sessions', { agent: { name: 'demo' } });
  const { run } = await ask(first.url, first.key, `/v1/sessions/${id}/runs`, { input: 'Hello' });
  const { status } = await ask(first.url, first.key, `/v1/sessions/${id}/runs/${run}?wait=true`);
  expect(['succeeded', 'waiting']).toContain(status);
  const stream = await fetch(`${first.url}/v1/sessions/${id}/events`, {
    headers: { authorization: `Bearer ${first.key}` },
  });
  const text = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = ''; !read.includes('event: session.opened'); ) read += (await text.read()).value;
  first.process.kill('SIGTERM');
  expect(await once(first.process, 'exit')).toEqual([0, null]);
  while (!(await text.read()).done);
  const second = await serve(folder, '--port', '0', '--no-worker');
  expect(second.key).toBeUndefined();
  expect(await ask(second.url, first.key, `/v1/sessions/${id}`)).toMatchObject({ id });
});

test('[START2] serve moves to the next port when the default port is taken and says so, but fails when a requested port is taken', async () => {
  const folder = await newFolder();
  const taken = createServer();
  taken.listen(4730, '127.0.0.1');
  await once(taken, 'listening').catch(() => undefined); // another process may hold it
  onTestFinished(() => void taken.close());
  const refused = await serve(folder, '--port', '4730');
  expect(refused.url).toBe('ended with 2');
  expect(await readdir(folder)).toEqual([]);
  const next = startPerdure(['serve'], { cwd: folder });
  onTestFinished(() => void next.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: next.stdout }), 'line');
  expect(line).toMatch(/ at http:\/\/127\.0\.0\.1:47[3-5]\d, since port 4730 is in use$/);
  const kept = join(folder, '.perdure', 'api-key');
  expect(await readFile(kept, 'utf8'), 'a start that failed has not made a key').toMatch(/^pdk_/);
  expect((await stat(kept)).mode & 0o777).toBe(0o600);
});

test('[OBS1, OBS2, OBS3, OBS4] a server logs requests without the key, counts them, and sends spans to the configured receiver', async () => {
  const collector = await startCollector();
  const cwd = await newFolder();
  const child = startPerdure(['serve', '--json', '--port', '0'], {
    cwd,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let logged = '';
  child.stderr.on('data', (chunk) => {
    logged += chunk;
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { url, key } = JSON.parse(line);
  const { id } = await ask(url, key, '/v1/sessions', { agent: { name: 'demo' } });
  const { run } = await ask(url, key, `/v1/sessions/${id}/runs`, { input: 'Hello' });
  await ask(url, key, `/v1/sessions/${id}/runs/${run}?wait=true`);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('perdure_http_requests_total{method="POST",route="/v1/sessions",status="201"} 1');
  expect(metrics).toContain('perdure_events_appended_total{type="session.opened"} 1');
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
  const entries = logged.split('\n').flatMap((each) => (each === '' ? [] : [JSON.parse(each)]));
  expect(entries).toContainEqual(
    expect.objectContaining({ level: 'info', method: 'POST', route: '/v1/sessions', status: 201, workspace: 'local' }),
  );
  expect(logged).not.toContain(key.split('.').at(-1));
  expect(collector.spans().map(({ name }) => name)).toContain('invoke_agent demo');
});

test('[HTTP10] of two simultaneous first starts one shows a key, and the store has no other key', async () => {
  const folder = await newFolder();
  const both = await Promise.all([serve(folder, '--port', '0'), serve(folder, '--port', '0')]);
  const shown = both.flatMap(({ key }) => key ?? []);
  expect(shown).toHaveLength(1);
  expect(await ask(both[0].url, shown[0], '/v1/me')).toMatchObject({ member: 'local', role: 'admin' });
});

test('[HTTP10, WORKER3] a signal in the middle of a run releases the run, and the next start finishes it', async () => {
  const folder = await newFolder();
  const first = await serve(folder, '--port', '0');
  const { id } = await ask(first.url, first.key, '/v1/sessions', { agent: { name: 'demo' } });
  const { run } = await ask(first.url, first.key, `/v1/sessions/${id}/runs`, { input: 'Hello' });
  const types = async ({ url }: Serving): Promise<readonly string[]> =>
    (await ask(url, first.key, `/v1/sessions/${id}/events?follow=false`)).events.map(
      ({ type }: { type: string }) => type,
    );
  await expect.poll(() => types(first), { timeout: 30_000 }).toContain('model.called');
  first.process.kill('SIGTERM');
  expect(await once(first.process, 'exit')).toEqual([0, null]);
  const idle = await serve(folder, '--port', '0', '--no-worker');
  expect(await ask(idle.url, first.key, `/v1/sessions/${id}/runs/${run}`)).toMatchObject({ status: 'running' });
  expect(await types(idle)).not.toContain('run.ended');
  expect(await ask(idle.url, first.key, '/v1/workers')).toEqual({ workers: [] });
  await serve(folder, '--port', '0');
  const { status } = await ask(idle.url, first.key, `/v1/sessions/${id}/runs/${run}?wait=true`);
  expect(['succeeded', 'waiting']).toContain(status);
  expect(await types(idle)).not.toContain('tool.failed');
});

test('[WORKER2, WORKER3, WORKER11] perdure worker is listed and reports its health until a signal ends it', async () => {
  const cwd = await newFolder();
  const worker = startPerdure(['worker', '--health', '0', '--concurrency', '3'], { cwd });
  onTestFinished(() => void worker.kill('SIGKILL'));
  const lines = createInterface({ input: worker.stderr });
  let url: string | undefined;
  for await (const line of lines) {
    url ??= /http:\S+/.exec(line)?.[0];
    if (line.startsWith('at work for')) break;
  }
  const list = async (): Promise<string> => {
    const listing = startPerdure(['workers'], { cwd });
    const text = await Array.fromAsync(listing.stdout.setEncoding('utf8'));
    return text.join('');
  };
  await expect.poll(list, { timeout: 30_000 }).toMatch(/working +0\/3 .*demo@1/);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect(await (await fetch(`${url}/metrics`)).text()).toContain('process_cpu');
  worker.kill('SIGTERM');
  expect(await once(worker, 'exit')).toEqual([0, null]);
  expect(await list()).toContain('no worker has been seen lately');
});
