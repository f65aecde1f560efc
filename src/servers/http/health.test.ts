import { expect, onTestFinished, test } from 'vitest';
import type { RuntimeProblem } from '../../core/runtime/identities.ts';
import { serveHealth } from './health.ts';

const condition = { holds: 2, concurrency: 4, agents: ['coder@1'], isEnding: false };

const start = async (worker = condition, problems: readonly RuntimeProblem[] = []) => {
  const server = await serveHealth(
    { problems: async () => problems },
    { host: '127.0.0.1', port: 0, worker: () => worker, metrics: async () => ({ type: 'text/plain', text: 'up 1\n' }) },
  );
  onTestFinished(() => server.stop());
  return async (path: string) => {
    const response = await fetch(`${server.url}${path}`);
    return { status: response.status, text: await response.text() };
  };
};

test('[WORKER11] a worker reports that it is alive and ready, its metrics and what it is doing', async () => {
  const ask = await start();
  expect(await ask('/healthz')).toEqual({ status: 200, text: '{"ok":true}' });
  expect(await ask('/readyz')).toEqual({ status: 200, text: '{"ok":true}' });
  expect(await ask('/metrics')).toEqual({ status: 200, text: 'up 1\n' });
  const page = await ask('/');
  expect(page.status).toBe(200);
  expect(page.text).toContain('2 of 4 at once');
  expect(page.text).toContain('coder@1');
});

test('[WORKER11, PROBE2] a worker that drains, or lacks its store or vault, is alive but not ready, and names the problem', async () => {
  const locked: RuntimeProblem = { part: 'vault', problem: 'a vault cannot be opened' };
  const draining = { part: 'worker', problem: 'the worker drains: it claims no more sessions' };
  for (const [ask, problem] of [
    [await start({ ...condition, isEnding: true }), draining],
    [await start(condition, [locked]), locked],
  ] as const) {
    expect(await ask('/readyz')).toEqual({ status: 503, text: JSON.stringify({ ok: false, problems: [problem] }) });
    expect((await ask('/healthz')).status).toBe(200);
  }
});
