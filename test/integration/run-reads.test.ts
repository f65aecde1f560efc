import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, openRuntime } from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';

const steps = [{ calls: [{ tool: 'nothing', input: {} }] }, { text: 'Done.' }];
const agent = defineAgent({
  name: 'idle',
  version: 1,
  model: defineScript({ name: 'idle', everyTurn: true, steps }),
  tools: [defineTool({ name: 'nothing', input: z.object({}), effects: 'none', usesFiles: false, execute: () => 'ok' })],
});

test('a worker that has not seen the session reads its head once, folds its log once, and reads the messages once', async () => {
  const database = newMemoryDatabase();
  const client = await openRuntime({ store: openMemoryStore(database), agents: [agent], worker: false });
  const session = await client.sessions.open({ agent });
  for (const turn of [1, 2]) {
    const run = await session.send(`Turn ${turn}`);
    const store = openMemoryStore(database);
    const reads = { head: 0, snapshot: 0, read: 0, turnStarts: 0 };
    const counting = <Name extends keyof typeof reads>(name: Name) =>
      ((...args: readonly unknown[]) => {
        reads[name]++;
        return Reflect.apply(store[name], store, args);
      }) as (typeof store)[Name];
    const counted = overrideStore(store, {
      head: counting('head'),
      snapshot: counting('snapshot'),
      read: counting('read'),
      turnStarts: counting('turnStarts'),
    });
    const runtime = await openRuntime({ store: counted, agents: [agent], worker: false });
    await runtime.worker().runUntilIdle();
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'Done.' });
    expect(reads).toEqual({ head: 1, snapshot: 1, read: 2, turnStarts: 0 });
    await runtime.close();
  }
  await client.close();
});

test('[WR1] events that land between reading a head and claiming the session are detected', async () => {
  const database = newMemoryDatabase();
  const client = await openRuntime({ store: openMemoryStore(database), agents: [agent], worker: false });
  const session = await client.sessions.open({ agent });
  const [left, wanted] = [await session.send('Not this'), await session.send('This')];
  const store = openMemoryStore(database);
  let isFirst = true;
  const overtaken = overrideStore(store, {
    head: async (key) => {
      const head = await store.head(key);
      if (isFirst) {
        isFirst = false;
        await left.cancel();
      }
      return head;
    },
  });
  const warnings: unknown[] = [];
  const onWarning = (problem: unknown) => void warnings.push(problem);
  const runtime = await openRuntime({ store: overtaken, agents: [agent], worker: false, onWarning });
  await runtime.worker().runUntilIdle();
  expect(warnings).toEqual([]);
  expect(await left.result()).toMatchObject({ status: 'cancelled' });
  expect(await wanted.result()).toMatchObject({ status: 'succeeded', output: 'Done.' });
  const begun = (await Array.fromAsync(session.events())).filter(({ type }) => type === 'run.started');
  expect(begun.map(({ run }) => run)).toEqual([wanted.id]);
  await runtime.close();
  await client.close();
});

test('[CTX4] the cached start of a turn equals what another runtime reads', async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({
    store: openMemoryStore(database),
    snapshots: { everyEvents: 7, everyBytes: 1e6 },
  });
  const session = await runtime.sessions.open();
  const say = (content: string) => session.append({ role: 'user', content });
  const learn = (name: string) =>
    session.commit((draft) => {
      draft.facts[name] = name;
    });
  const isSame = async (id = session.id) => {
    const fresh = await openRuntime({ store: openMemoryStore(database) });
    const here = await (await runtime.sessions.get(id)).context();
    expect(here).toEqual(await (await fresh.sessions.get(id)).context());
    await fresh.close();
    return here.system;
  };
  await learn('before');
  for (const turn of ['one', 'two', 'three']) {
    await say(turn);
    const system = await isSame();
    await learn(`during ${turn}`);
    expect(await isSame()).toBe(system);
  }
  expect(await isSame()).toContain('during two');
  expect(await isSame()).not.toContain('during three');
  const { seq } = await session.summary();
  const branch = await session.fork({ at: { turn: 2 } });
  await isSame(branch.id);
  await branch.resume();
  await branch.append({ role: 'user', content: 'elsewhere' });
  await isSame(branch.id);
  await session.rewind({ to: { seq: seq - 1 } });
  await isSame();
  await session.rewind({ to: { turn: 1 } });
  await isSame();
  await say('four');
  expect(await isSame()).not.toContain('during two');
  await runtime.close();
});
