import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, openRuntime } from '../../index.ts';
import type { Json } from '../../schema/json.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';

const tool = (name: string, options: object) =>
  defineTool({ name, input: z.object({ n: z.number() }), execute: ({ n }) => n, ...options });

const tools = [
  tool('look', { effects: 'none' }),
  tool('once', {}),
  tool('careful', { approval: ({ n }: { n: number }) => n > 1 }),
];

/** The event types of each append in a run whose model makes these calls and then answers. */
const appendsOf = async (...calls: readonly { tool: string; input: Json }[]) => {
  const appends: string[][] = [];
  const store = openMemoryStore();
  const agent = defineAgent({
    name: 'a',
    version: 1,
    model: defineScript({ name: 'calls', steps: [{ calls }, { text: 'done' }] }),
    tools,
  });
  const runtime = await openRuntime({
    store: {
      ...store,
      append: (request) => {
        appends.push(request.events.map(({ type }) => type));
        return store.append(request);
      },
    },
    agents: [agent],
    worker: false,
  });
  await runtime.worker().start();
  const session = await runtime.sessions.open({ agent });
  await (await session.send('go')).result();
  await runtime.close();
  const answer = appends.findIndex((types) => types[0] === 'model.completed');
  return appends.slice(answer, answer + 3);
};

const called = (name: string, n: number | string = 1) => ({ tool: name, input: { n } });
const answer = ['model.completed', 'message.appended'];
const end = ['tool.completed', 'message.appended', 'state.committed'];

test("[RUN1] the first concurrent calls begin in the append that stores the model's answer", async () => {
  expect(await appendsOf(called('once'))).toEqual([[...answer, 'tool.called'], end, ['model.called']]);
  const [first] = await appendsOf(called('look'), called('look', 2), called('once'));
  expect(first).toEqual([...answer, 'tool.called', 'tool.called']);
});

test('[RUN1, APPR1] calls begin in the append of the answer only if every call of the answer may run without approval', async () => {
  expect(await appendsOf(called('careful'))).toEqual([[...answer, 'tool.called'], end, ['model.called']]);
  expect((await appendsOf(called('look'), called('careful', 2)))[0]).toEqual(answer);
  expect((await appendsOf(called('look'), called('look', 'one')))[0]).toEqual(answer);
  expect((await appendsOf(called('look'), called('nonsense')))[0]).toEqual(answer);
});
