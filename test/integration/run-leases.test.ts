import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Queue } from '../../src/core/ports/queue.ts';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import { defineAgent, defineScript, defineTool, openRuntime } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';

test('[WORKER18, RUN6] a worker that slept past its lease leaves the session to its new holder', async () => {
  const store = openMemoryStore();
  const secondBegan = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const work = defineTool({
    name: 'work',
    input: z.object({}),
    effects: 'none',
    execute: async (_, { attempt, signal }) => {
      const aborted = new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      if (attempt > 1) secondBegan.resolve();
      return Promise.race([attempt > 1 ? mayEnd.promise : aborted, aborted]);
    },
  });
  const agent = defineAgent({
    name: 'tester',
    version: 1,
    model: defineScript({ name: 'work', steps: [{ calls: [{ tool: 'work', input: {} }] }, { text: 'Done.' }] }),
    tools: [work],
  });
  const startWorker = async (leaseMs: number, methods: Partial<Queue> = {}) => {
    const runtime = await openRuntime({
      store: overrideStore<RuntimeStore>(store, methods),
      agents: [agent],
      worker: false,
    });
    onTestFinished(() => runtime.close());
    const worker = runtime.worker({ leaseMs, pollMs: 20 });
    await worker.start();
    return { sessions: runtime.sessions, worker };
  };
  /** A worker whose queue requests all arrive too late after it has claimed the session. */
  const sleeper = await startWorker(300, {
    touch: async (presence, options) => {
      if (options.held.length > 0) await secondBegan.promise;
      return store.touch(presence, options);
    },
    release: async (...asked) => {
      await secondBegan.promise;
      return store.release(...asked);
    },
  });
  const session = await sleeper.sessions.open({ agent });
  const run = await session.send('Go');
  await expect.poll(async () => (await session.toolCalls()).calls.length).toBe(1);
  await startWorker(30_000);
  await secondBegan.promise;
  await expect.poll(() => sleeper.worker.state().holds).toBe(0);
  mayEnd.resolve();
  expect(await run.result()).toMatchObject({ status: 'succeeded' });
  const started = (await Array.fromAsync(session.events())).filter(({ type }) => type === 'run.started');
  expect(started).toHaveLength(2);
});

test('[WORKER4] a worker finds a lapsed lease soon, without a hint', async () => {
  const agent = defineAgent({
    name: 'tester',
    version: 1,
    model: defineScript({ name: 'done', steps: [{ text: 'Done.' }] }),
  });
  const store = openMemoryStore();
  const runtime = await openRuntime({ store, agents: [agent], worker: false });
  onTestFinished(() => runtime.close());
  const run = await (await runtime.sessions.open({ agent })).send('Go');
  const holder = { worker: 'silent', machine: 'elsewhere', process: 1, processStart: '1' };
  const leaseMs = 600;
  const { taken } = await store.claim({ holder, forMs: leaseMs, agents: ['tester@1'], count: 1, held: [] });
  expect(taken).toHaveLength(1);
  const worker = runtime.worker({ leaseMs });
  await worker.start();
  const began = performance.now();
  expect(await run.result()).toMatchObject({ status: 'succeeded' });
  expect(performance.now() - began).toBeLessThan(3000);
  await worker.stop();
});
