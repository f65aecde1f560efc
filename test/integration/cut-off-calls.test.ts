import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, openRuntime, type Session } from '../../src/index.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const script = defineScript({
  name: 'test',
  everyTurn: true,
  steps: [{ calls: [{ tool: 'hold', input: {} }] }, { text: 'Held.' }],
});

const statuses = async (session: Session, filter?: Parameters<Session['toolCalls']>[0]) =>
  (await session.toolCalls(filter)).calls.map(({ status }) => status);

const expectCutOff = async (session: Session): Promise<void> => {
  expect(await statuses(session)).toEqual(['interrupted']);
  expect(await statuses(session, { status: 'interrupted', turns: { to: 1 } })).toEqual(['interrupted']);
  expect(await statuses(session, { status: ['running', 'ok'] })).toEqual([]);
};

describe.each(storeKinds)('calls that a fork or a rewind cut off on %s', (kind) => {
  let place: StorePlace;
  beforeAll(async () => {
    place = await newStorePlace(kind);
  });
  afterAll(() => place.remove());

  /** Starts a run and holds it in the middle of a call, until the test releases it. */
  const startHolding = async () => {
    const begun = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const hold = defineTool({
      name: 'hold',
      input: z.object({}),
      effects: 'none',
      execute: async () => {
        begun.resolve();
        await released.promise;
      },
    });
    const agent = defineAgent({ name: 'tester', version: 1, model: script, tools: [hold] });
    const runtime = await openRuntime({ store: place.address, agents: [agent], worker: false });
    onTestFinished(() => runtime.close());
    onTestFinished(() => released.resolve());
    await runtime.worker().start();
    const session = await runtime.sessions.open({ agent });
    const run = await session.send('Hold it');
    await begun.promise;
    return { session, run, release: released.resolve };
  };

  test('[FORK3, QRY9] a call in flight at a fork point is interrupted in the fork, and keeps its outcome in its own session', async () => {
    const { session, run, release } = await startHolding();
    const fork = await session.fork();
    const branches = [fork, await fork.fork(), await session.fork()];
    for (const branch of branches) await expectCutOff(branch);
    expect(await statuses(session)).toEqual(['running']);
    release();
    await run.waitForEnd();
    for (const branch of branches) await expectCutOff(branch);
    expect(await statuses(session)).toEqual(['ok']);
    expect(await statuses(session, { status: 'interrupted' })).toEqual([]);
    await fork.resume();
    await (await fork.send('Hold again')).waitForEnd();
    expect(await statuses(fork)).toEqual(['ok', 'interrupted']);
    expect(await statuses(fork, { last: { turns: 1 } })).toEqual(['ok']);
    expect(await statuses(await fork.fork())).toEqual(['ok', 'interrupted']);
  });

  test('[REW2, QRY9] a call that a rewind cut off has the outcome interrupted, but completed in queries that include abandoned events', async () => {
    const { session, run, release } = await startHolding();
    release();
    await run.waitForEnd();
    const [call] = (await session.toolCalls()).calls;
    const before = await session.fork();
    await session.rewind({ to: { seq: call!.seq } });
    await expectCutOff(session);
    await expectCutOff(await session.fork());
    expect(await statuses(session, { includeRewound: true })).toEqual(['ok']);
    expect(await statuses(before)).toEqual(['ok']);
  });

  test('[QRY8] a call that ended in a later turn is listed as ended even if only the turn that began it is queried', async () => {
    const runtime = await openRuntime({ store: place.address });
    onTestFinished(() => runtime.close());
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'one' });
    const { crosses } = await session.track({
      crosses: async () => session.append({ role: 'user', content: 'two' }),
    });
    await crosses();
    expect(await statuses(session, { turns: { from: 1, to: 1 } })).toEqual(['ok']);
    expect(await statuses(session, { turns: { to: 1 }, status: 'running' })).toEqual([]);
  });
});
