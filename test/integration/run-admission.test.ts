import { afterEach, expect, test } from 'vitest';
import { defineAgent, defineScript, openRuntime } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { startRuns } from '../support/runs/start-runs.ts';
import { stuckTool } from '../support/runs/stuck-tool.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

/** Every turn calls a tool that never ends by itself. */
const start = async () => {
  const script = defineScript({ name: 'stuck', everyTurn: true, steps: [{ calls: [{ tool: 'stuck', input: {} }] }] });
  const setup = await startRuns({ model: scriptedModel(script), tools: [stuckTool] });
  undo.push(() => setup.runtime.close());
  const callsMade = async () => (await setup.session.toolCalls()).calls.length;
  return { ...setup, callsMade };
};

test.each(['interrupt', 'reject'] as const)(
  '[RUN3, KEY1] repeating a key with the policy %s returns the same run and does not affect it',
  async (policy) => {
    const { session, types, callsMade } = await start();
    const run = await session.send('Go', { policy, idempotencyKey: 'k' });
    await expect.poll(callsMade).toBe(1);
    expect((await session.send('Go', { policy, idempotencyKey: 'k' })).id).toBe(run.id);
    expect(await types()).not.toContain('run.ended');
  },
);

test('[RUN2, KEY1] an interrupting input that is repeated with its key does not end a newer run', async () => {
  const { session, callsMade } = await start();
  const first = await session.send('One');
  await expect.poll(callsMade).toBe(1);
  const second = await session.send('Two', { policy: 'interrupt', idempotencyKey: 'k' });
  expect(await first.waitForEnd()).toMatchObject({ status: 'cancelled' });
  await expect.poll(callsMade).toBe(2);
  await second.cancel();
  const third = await session.send('Three');
  await expect.poll(callsMade).toBe(3);
  expect((await session.send('Two', { policy: 'interrupt', idempotencyKey: 'k' })).id).toBe(second.id);
  const ends = (await Array.fromAsync(session.events())).flatMap(({ type, run }) =>
    type === 'run.ended' ? [run] : [],
  );
  expect(ends).not.toContain(third.id);
});

test('[RUN15] a run whose model is not configured fails, and says what to set', async () => {
  const store = openMemoryStore();
  const named = (model: string | object) => defineAgent({ name: 'tester', version: 1, model });
  const script = scriptedModel(defineScript({ name: 'any', steps: [{ text: 'x' }] }));
  const opening = await openRuntime({ store, agents: [named(script)], worker: false });
  undo.push(() => opening.close());
  const session = await opening.sessions.open({ agent: named(script) });
  const run = await session.send('Go');
  const working = await openRuntime({ store, agents: [named('anthropic/some')], worker: false, models: { env: {} } });
  await working.worker().runUntilIdle();
  expect(await run.result()).toMatchObject({
    status: 'failed',
    error: { code: 'HOSTED_MODEL_UNAVAILABLE', message: expect.stringContaining('ANTHROPIC_API_KEY') },
  });
});
