import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../src/core/ports/model.ts';
import { type AgentDefinition, defineAgent, defineTool, openRuntime } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { failureOf } from '../support/failure-of.ts';
import { overrideStore } from '../support/stores/override-store.ts';

const usage = { inputTokens: 1, outputTokens: 1 };

/** Runs one answer with this many calls. Returns what was appended, what ran and what the model was told. */
const answerWith = async (calls: number, policies: AgentDefinition['policies'] = {}) => {
  let [ran, inFlight, most] = [0, 0, 0];
  const tick = defineTool({
    name: 'tick',
    input: z.object({}),
    effects: 'none',
    execute: async () => {
      ran += 1;
      inFlight += 1;
      most = Math.max(most, inFlight);
      await Promise.resolve();
      inFlight -= 1;
      return 'ok';
    },
  });
  const model: Model = {
    name: 'test/many',
    contextTokens: 10_000_000,
    price: null,
    answer: async ({ messages }) => {
      if (messages.some(({ role }) => role === 'tool'))
        return { parts: [{ type: 'text', text: 'Done.' }], finish: 'stop', usage };
      const part = (_: unknown, index: number) => ({
        type: 'tool-call' as const,
        callId: `call_${index}`,
        tool: 'tick',
        input: {},
      });
      return { parts: Array.from({ length: calls }, part), finish: 'tool-calls', usage };
    },
  };
  const agent = defineAgent({ name: 'many', model, tools: [tick], policies });
  const store = openMemoryStore();
  let appends = 0;
  const counted = overrideStore(store, {
    append: (request) => {
      appends += 1;
      return store.append(request);
    },
  });
  const runtime = await openRuntime({ store: counted, agents: [agent] });
  try {
    const session = await runtime.sessions.open({ agent });
    const run = await session.send('Go');
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Done.' });
    const results = (await session.transcript()).entries.flatMap(({ message }) =>
      message.role === 'tool' ? message.content : [],
    );
    expect(await session.verify()).toMatchObject({ ok: true });
    return { appends, ran, most, results };
  } finally {
    await runtime.close();
  }
};

test('[RUN45] calls beyond the limit of an answer get typed failures in one append, however many they are', async () => {
  const [few, many] = [await answerWith(20, { maxCalls: 10 }), await answerWith(3000, { maxCalls: 10 })];
  for (const [{ ran, results }, calls] of [
    [few, 20],
    [many, 3000],
  ] as const) {
    expect(ran).toBe(10);
    expect(new Set(results.map(({ callId }) => callId)).size).toBe(calls);
    const denied = results.filter(({ outcome }) => outcome === 'denied');
    expect(denied).toHaveLength(calls - 10);
    expect(denied[0]).toMatchObject({
      callId: expect.any(String),
      output: expect.stringContaining('at most 10 calls'),
    });
  }
  expect(many.appends).toBe(few.appends);
});

test('[RUN45] by default 128 calls of an answer run', async () => {
  expect((await answerWith(140)).ran).toBe(128);
});

test('[RUN46] at most 64 calls are in flight, and ends that wait together are one append', async () => {
  const appendsOf = async (calls: number) => {
    const { appends, ran, most, results } = await answerWith(calls, { maxCalls: 1000 });
    expect(ran).toBe(calls);
    expect(most).toBeLessThanOrEqual(64);
    expect(new Set(results.map(({ callId }) => callId)).size).toBe(calls);
    expect(results.every(({ outcome, output }) => outcome === 'ok' && output === 'ok')).toBe(true);
    return appends;
  };
  const [few, many] = [await appendsOf(64), await appendsOf(640)];
  // One append begins a batch of 64 calls, and a few record their ends.
  expect(many - few).toBeLessThanOrEqual(9 * 8);
});

test('[RUN45, IN8] a limit of calls that is no whole number from 1 to 10,000 is rejected', async () => {
  for (const maxCalls of [0, 1.5, 10_001, Number.NaN]) {
    expect(await failureOf(() => defineAgent({ name: 'many', policies: { maxCalls } }))).toMatchObject({
      code: 'AGENT_INVALID',
    });
  }
});

test('[RUN51] an append that leaves too many calls without a result writes nothing, also beside others', async () => {
  await using runtime = await openRuntime({ store: openMemoryStore(), worker: false });
  const session = await runtime.sessions.open();
  const calls = (from: number, count: number) => ({
    role: 'assistant' as const,
    content: Array.from({ length: count }, (_, index) => ({
      type: 'tool-call' as const,
      callId: `call_${from + index}`,
      tool: 'tick',
      input: {},
    })),
  });
  expect(await failureOf(session.append(calls(0, 1001)))).toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('1001 calls without a result'),
  });
  const attempts = Array.from({ length: 8 }, (_, index) => session.append(calls(index * 300, 300)));
  const landed = (await Promise.allSettled(attempts)).filter(({ status }) => status === 'fulfilled');
  expect(landed).toHaveLength(3);
});
