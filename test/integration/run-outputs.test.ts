import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../src/core/ports/model.ts';
import { defineScript, defineTool } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { startRuns } from '../support/runs/start-runs.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const cyclic: Record<string, unknown> = { name: 'loop' };
cyclic.self = cyclic;
const outputs: Readonly<Record<string, () => unknown>> = {
  huge: () => 'x'.repeat(20 * 1024 * 1024),
  cyclic: () => cyclic,
  bigint: () => 10n,
  nothing: () => undefined,
  torn: () => 'a\u0000b\ud800c',
  deep: () => Array.from({ length: 200 }).reduce((inner) => [inner], 'deep'),
  throws_text: () => {
    throw 'just text\u0000';
  },
  throws_nothing: () => {
    throw undefined;
  },
  throws_huge: () => {
    throw new Error('y'.repeat(20 * 1024 * 1024));
  },
  getter: () => ({
    get evil() {
      throw new Error('no');
    },
  }),
};

test.each(Object.keys(outputs))(
  '[RUN9] whatever a tool returns or throws, its call ends and the run continues: %s',
  async (name) => {
    const tool = defineTool({ name, input: z.object({}), effects: 'none', execute: outputs[name]! });
    const model = scriptedModel(
      defineScript({ name: 'any', steps: [{ calls: [{ tool: name, input: {} }] }, { text: 'Done.' }] }),
    );
    const { session, runtime } = await startRuns({ model, tools: [tool] });
    undo.push(() => runtime.close());
    expect(await (await session.send('Go')).result()).toMatchObject({ status: 'succeeded', output: 'Done.' });
    const [call] = (await session.toolCalls()).calls;
    expect(call!.status).toMatch(/^(ok|threw)$/);
    expect((await session.transcript()).entries.map(({ message }) => message.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ]);
  },
);

test('[RUN12] an invalid output is reported to the model twice in all, however often the run is taken over', async () => {
  const model = scriptedModel(
    defineScript({ name: 'wrong', steps: Array.from({ length: 6 }, () => ({ text: 'no JSON' })) }),
  );
  const pausing: Model = {
    ...model,
    answer: async (...request) => {
      await session.pause();
      return model.answer(...request);
    },
  };
  const { session, runtime } = await startRuns({ output: z.object({ port: z.number() }), model: pausing });
  undo.push(() => runtime.close());
  const run = await session.send('Which port?');
  for await (const { type } of run.events()) if (type === 'session.paused') await session.resume();
  expect(await run.waitForEnd()).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_INVALID' } });
  const events = await Array.fromAsync(session.events());
  expect(events.filter(({ type }) => type === 'model.completed')).toHaveLength(3);
});
