import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, openRuntime } from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { subagent } from '../../src/tools/index.ts';
import { overrideStore } from '../override-store.ts';
import { newStorePlace, storeKinds } from '../stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const stuck = defineTool({
  name: 'stuck',
  input: z.object({}),
  execute: (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
});

const helperTokens = 100_000;

describe.each(storeKinds)('subagents on %s', (kind) => {
  const start = async (childSteps: Parameters<typeof defineScript>[0]['steps']) => {
    const place = await newStorePlace(kind);
    undo.push(place.remove);
    const helper = defineAgent({
      name: 'helper',
      version: 1,
      model: 'scripted/helper',
      tools: [stuck],
      settings: { maxOutputTokens: 20_000 },
      policies: { budget: { tokens: helperTokens } },
    });
    const boss = defineAgent({ name: 'boss', version: 1, model: 'scripted/boss', tools: [subagent(helper)] });
    const scripts = [
      defineScript({ name: 'helper', steps: childSteps }),
      defineScript({
        name: 'boss',
        steps: [{ calls: [{ tool: 'helper', input: { task: 'Look it up' } }] }, { text: 'Thanks.' }],
      }),
    ];
    const open = async () => {
      const runtime = await openRuntime({ store: place.address, agents: [boss, helper], models: { scripts } });
      undo.push(() => runtime.close());
      return runtime;
    };
    const runtime = await open();
    return { runtime, open, session: await runtime.sessions.open({ agent: boss, budget: { tokens: 200_000 } }) };
  };
  const childOf = async ({ runtime, session }: Awaited<ReturnType<typeof start>>) => {
    const opened = (await Array.fromAsync(session.events())).find(({ type }) => type === 'child.opened');
    return opened?.type === 'child.opened' ? runtime.sessions.get(opened.payload.session) : undefined;
  };

  test('[SUB1] a subagent works in a session of its own and its usage counts in the parent, with one place for both', async () => {
    const started = await start([{ text: 'Here it is.' }]);
    await started.runtime.worker({ concurrency: 1, session: started.session.id }).start();
    const result = await (await started.session.send('Go')).result();
    expect(result).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
    const child = (await childOf(started))!;
    expect((await child.transcript()).map(({ message }) => message.role)).toEqual(['user', 'assistant']);
    expect(await child.summary()).toMatchObject({ metadata: { parent: started.session.id } });
    const calls = await started.session.toolCalls();
    expect(calls[0]).toMatchObject({ tool: 'helper', status: 'ok' });
    const events = await Array.fromAsync(started.session.events());
    expect(events.filter(({ type }) => type === 'child.ended')).toHaveLength(1);
  });

  test('[SUB1] a child that waits for the budget goes on when that of its parent is raised, within its own', async () => {
    const started = await start([{ text: 'Here it is.' }]);
    await started.runtime.worker().start();
    await started.session.limit({ tokens: 17_000 });
    const run = await started.session.send('Go');
    await expect
      .poll(async () => (await (await childOf(started))?.summary())?.waiting, { timeout: 10_000 })
      .toBe('budget');
    await started.session.limit({ tokens: 200_000 });
    expect(await run.ended()).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
    const limits = (await Array.fromAsync((await childOf(started))!.events())).flatMap((event) =>
      event.type === 'budget.set' ? [event.payload.limits.tokens] : [],
    );
    expect(limits[0]).toBeLessThan(17_000);
    expect(limits.slice(1)).toEqual([helperTokens]);
  });

  test('[SUB2] a cancel of the parent ends its children', async () => {
    const started = await start([{ calls: [{ tool: 'stuck', input: {} }] }, { text: 'never' }]);
    await started.runtime.worker().start();
    const run = await started.session.send('Go');
    await expect.poll(async () => (await (await childOf(started))?.toolCalls())?.length).toBe(1);
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: 'cancelled' });
    const events = await Array.fromAsync((await childOf(started))!.events());
    expect(events.findLast(({ type }) => type === 'run.ended')).toMatchObject({ payload: { status: 'cancelled' } });
  });

  test('[SUB1, RUN6] another worker goes on waiting for the same child', async () => {
    const started = await start([{ calls: [{ tool: 'stuck', input: {} }] }, { text: 'Found.' }]);
    const first = started.runtime.worker();
    await first.start();
    const run = await started.session.send('Go');
    await expect.poll(async () => (await (await childOf(started))?.toolCalls())?.length).toBe(1);
    await first.stop();
    await (await started.open()).worker().start();
    expect(await run.ended()).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
    const opened = (await Array.fromAsync(started.session.events())).filter(({ type }) => type === 'child.opened');
    expect(opened).toHaveLength(1);
  });
});

test('[SUB2] a child that was not asked yet when its parent is cancelled is not asked any more', async () => {
  const [asking, cancelled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const database = newMemoryDatabase();
  const store = openMemoryStore(database);
  const parents = new Set<string>();
  const late = overrideStore(store, {
    append: async (request) => {
      const isAsked = request.events.some(({ type }) => type === 'input.admitted');
      if (isAsked && !parents.has(request.session)) {
        asking.resolve();
        await cancelled.promise;
      }
      return store.append(request);
    },
  });
  const helper = defineAgent({ name: 'helper', version: 1, model: 'scripted/helper' });
  const boss = defineAgent({ name: 'boss', version: 1, model: 'scripted/boss', tools: [subagent(helper)] });
  const scripts = [
    defineScript({ name: 'helper', steps: [{ text: 'never' }] }),
    defineScript({ name: 'boss', steps: [{ calls: [{ tool: 'helper', input: { task: 'Look' } }] }] }),
  ];
  const runtime = await openRuntime({ store: late, agents: [boss, helper], models: { scripts } });
  const session = await runtime.sessions.open({ agent: boss });
  parents.add(session.id);
  await runtime.worker().start();
  const run = await session.send('Go');
  await asking.promise;
  const elsewhere = await openRuntime({
    store: openMemoryStore(database),
    agents: [boss, helper],
    models: { scripts },
  });
  await (await elsewhere.sessions.get(session.id)).cancel(run.id);
  cancelled.resolve();
  await elsewhere.worker().runUntilIdle();
  await elsewhere.close();
  const { sessions } = await runtime.sessions.list();
  const child = await runtime.sessions.get(sessions.find(({ id }) => id !== session.id)!.id);
  expect(await child.summary()).toMatchObject({ status: 'closed', messages: 0 });
  await runtime.close();
});
