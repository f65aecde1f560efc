import { expect, onTestFinished, test } from 'vitest';
import { serveHealth } from './health.ts';

const condition = { holds: 2, concurrency: 4, agents: ['coder@1'], isEnding: false };

const start = async (worker = condition, isReady = true) => {
  const server = await serveHealth(
    { isReady: async () => isReady },
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

test('[WORKER11] a worker that drains, or whose store is unavailable, is alive but not ready', async () => {
  for (const ask of [await start({ ...condition, isEnding: true }), await start(condition, false)]) {
    expect(await ask('/readyz')).toEqual({ status: 503, text: '{"ok":false}' });
    expect((await ask('/healthz')).status).toBe(200);
  }
});
