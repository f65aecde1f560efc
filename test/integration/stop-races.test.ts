import { afterEach, expect, test } from 'vitest';
import type { Model } from '../../src/core/ports/model.ts';
import type { AppendRequest } from '../../src/core/ports/store.ts';
import { defineAgent, openRuntime, type Runtime } from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { failureOf } from '../support/failure-of.ts';
import { overrideStore } from '../support/stores/override-store.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

/** A runtime with a worker, and another one that waits for `before` just before it appends an event of this type. */
const start = async (type: string, before: () => Promise<unknown>) => {
  const answers: PromiseWithResolvers<string>[] = [];
  const asked: PromiseWithResolvers<void>[] = [];
  const at = <T>(list: PromiseWithResolvers<T>[], index: number) => (list[index] ??= Promise.withResolvers<T>());
  let requests = 0;
  const model: Model = {
    name: 'test/waits',
    contextTokens: 100_000,
    price: null,
    answer: async ({ signal }) => {
      const index = requests++;
      at(asked, index).resolve();
      const aborted = new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
      );
      const text = await Promise.race([at(answers, index).promise, aborted]);
      return { parts: [{ type: 'text', text }], finish: 'stop', usage: { inputTokens: 1, outputTokens: 1 } };
    },
  };
  const agent = defineAgent({ name: 'desk', model });
  const database = newMemoryDatabase();
  const opened = async (store: ReturnType<typeof openMemoryStore>): Promise<Runtime> => {
    const runtime = await openRuntime({ store, agents: [agent], worker: false });
    undo.push(() => runtime.close());
    return runtime;
  };
  const runs = await opened(openMemoryStore(database));
  const store = openMemoryStore(database);
  let isOver = false;
  const late = overrideStore(store, {
    append: async (request: AppendRequest) => {
      if (!isOver && request.events.some((event) => event.type === type)) {
        isOver = true;
        await before();
      }
      return store.append(request);
    },
  });
  const session = await runs.sessions.open({ agent });
  await runs.worker().start();
  return {
    runs,
    session,
    late: await opened(late),
    hasAsked: (index: number) => at(asked, index).promise,
    answer: (index: number) => at(answers, index).resolve('Done.'),
  };
};

test('[RUN44] a cancel that lands after the end of its run has no effect on the next run, and is told to its caller', async () => {
  const setup = await start('cancel.requested', async () => {
    setup.answer(0);
    await first.waitForEnd();
    await setup.hasAsked(1);
  });
  const { session, late } = setup;
  const first = await session.send('One');
  const second = await session.send('Two');
  await setup.hasAsked(0);
  const theirs = await late.sessions.get(session.id);
  expect(await failureOf(theirs.cancel(first.id))).toMatchObject({ code: 'RUN_NOT_FOUND' });
  expect(await first.status()).toMatchObject({ status: 'succeeded' });
  setup.answer(1);
  setup.answer(2); // the cancel fenced the worker, which asks again
  expect(await second.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[RUN44] a cancel that names no run stops the run in progress when it lands', async () => {
  const setup = await start('cancel.requested', async () => {
    setup.answer(0);
    await first.waitForEnd();
    await setup.hasAsked(1);
  });
  const { session, late } = setup;
  const first = await session.send('One');
  const second = await session.send('Two');
  await setup.hasAsked(0);
  expect(await (await late.sessions.get(session.id)).cancel()).toBe(second.id);
  expect(await second.status()).toMatchObject({ status: 'cancelled' });
  expect(await first.status()).toMatchObject({ status: 'succeeded' });
});

test('[RUN50] a cancel of a queued run leaves the run in progress, its worker and its calls alone', async () => {
  const setup = await start('nothing', async () => undefined);
  const { session, runs } = setup;
  const first = await session.send('One');
  await setup.hasAsked(0);
  const second = await session.send('Two');
  expect(await session.cancel(second.id)).toBe(second.id);
  expect(await second.status()).toMatchObject({ status: 'cancelled' });
  await (await runs.sessions.get(session.id)).update({ title: 'A command settles stops' });
  setup.answer(0);
  expect(await first.waitForEnd()).toMatchObject({ status: 'succeeded' });
  const types: string[] = [];
  for await (const { type } of session.events()) types.push(type);
  expect(types.filter((type) => type === 'run.started' || type === 'model.called')).toHaveLength(2);
});

test('[RUN50] a cancel of a queued run that begins before the cancel lands fences its worker', async () => {
  const setup = await start('cancel.requested', async () => {
    setup.answer(0);
    await first.waitForEnd();
    await setup.hasAsked(1);
  });
  const { session, late } = setup;
  const first = await session.send('One');
  const second = await session.send('Two');
  await setup.hasAsked(0);
  const theirs = await late.sessions.get(session.id);
  expect(await theirs.cancel(second.id)).toBe(second.id);
  expect(await second.status()).toMatchObject({ status: 'cancelled' });
  setup.answer(1);
  const third = await session.send('Three');
  setup.answer(2);
  expect(await third.waitForEnd()).toMatchObject({ status: 'succeeded' });
  expect(await first.status()).toMatchObject({ status: 'succeeded' });
  expect(await second.status()).toMatchObject({ status: 'cancelled' });
});

test('[HAND16] of two handoffs at once the first takes effect, and the second is checked against its holder', async () => {
  const by = (runtime: Runtime, member: string) =>
    runtime.as({ workspace: 'local', member, role: 'member' }).sessions.get(setup.session.id);
  const setup = await start('session.handed', async () =>
    (await by(setup.runs, 'ann')).handoff({ to: { member: 'carol' } }),
  );
  const { session, late } = setup;
  const run = await session.send('Go');
  await setup.hasAsked(0);
  const bobs = await by(late, 'bob');
  expect(await failureOf(bobs.handoff({ to: 'human' }))).toMatchObject({ code: 'SESSION_HELD' });
  expect(await session.summary()).toMatchObject({ holder: 'human', handoff: { member: 'carol' } });
  expect(await run.status()).toMatchObject({ status: 'waiting', waitingFor: 'human' });
  const types = (await Array.fromAsync(session.events())).map(({ type }) => type);
  expect(types.filter((type) => type === 'session.handed')).toHaveLength(1);
});

test('[HAND16] a handoff by an admin lands on top of another one', async () => {
  const setup = await start('session.handed', () => setup.session.handoff({ to: { member: 'carol' } }));
  const { session, late } = setup;
  await session.send('Go');
  await setup.hasAsked(0);
  await (await late.sessions.get(session.id)).handoff({ to: { role: 'approver' } });
  expect(await session.summary()).toMatchObject({ holder: 'human', handoff: { role: 'approver' } });
});

test('[RUN7] an immediate pause also stops a run whose pause was requested before', async () => {
  const setup = await start('none', async () => undefined);
  const { session } = setup;
  const run = await session.send('Go');
  await setup.hasAsked(0);
  await session.pause();
  expect(await session.summary()).toMatchObject({ status: 'pausing' });
  await session.pause({ withinMs: 0 });
  expect(await run.status()).toMatchObject({ status: 'paused' });
  await session.resume();
  setup.answer(1);
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
});
