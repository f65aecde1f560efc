import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, openRuntime, type Runtime } from '../../src/index.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const newPlace = async (kind: (typeof storeKinds)[number]): Promise<StorePlace> => {
  const place = await newStorePlace(kind);
  onTestFinished(() => place.remove());
  return place;
};

const open = async ({ address }: StorePlace, agents: Parameters<typeof openRuntime>[0]['agents'] = []) => {
  const runtime = await openRuntime({ store: address, agents, worker: false });
  onTestFinished(() => runtime.close());
  return runtime;
};

/** An agent that pays twice, one call after the other. Its first payment waits for `mayEnd`. */
const newPayer = () => {
  const [paying, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const paid: number[] = [];
  const pay = defineTool({
    name: 'pay',
    input: z.object({ invoice: z.number() }),
    effects: 'once',
    execute: async ({ invoice }) => {
      paid.push(invoice);
      paying.resolve();
      await ending.promise;
    },
  });
  const calls = [1, 2].map((invoice) => ({ calls: [{ tool: 'pay', input: { invoice } }] }));
  const model = defineScript({ name: 'pay', steps: [...calls, { text: 'Paid.' }] });
  const agent = defineAgent({ name: 'payer', version: 1, model, tools: [pay] });
  return { agent, paid, isPaying: paying.promise, mayEnd: ending.resolve };
};

/** Its lease is so long that only the fence can stop it. */
const startWorker = async (runtime: Runtime) => {
  const worker = runtime.worker({ concurrency: 1, leaseMs: 600_000 });
  await worker.start();
  return worker;
};

describe.each(storeKinds)('a lost claim on %s', (kind) => {
  test('[WR5, RUN6] two workers whose claims got the same epoch do not both drive the run', async () => {
    const place = await newPlace(kind);
    const [first, second] = [newPayer(), newPayer()];
    const runtime = await open(place, [first.agent]);
    const session = await runtime.sessions.open({ agent: first.agent });
    const run = await session.send('Go');
    const loseCommits = await place.keep();
    const worker = await startWorker(runtime);
    await first.isPaying;
    await loseCommits();
    const other = await open(place, [second.agent]);
    await startWorker(other);
    await second.isPaying;
    first.mayEnd();
    await expect.poll(() => worker.state().holds).toBe(0);
    await worker.stop();
    second.mayEnd();
    const theirs = await other.sessions.get(session.id);
    expect(await (await theirs.run(run.id)).result()).toMatchObject({ status: 'succeeded' });

    expect([first.paid, second.paid]).toEqual([[1], [1, 2]]);
    const events = await Array.fromAsync(theirs.events());
    const counts = Map.groupBy(events, ({ type }) => type);
    expect(
      ['run.started', 'tool.called', 'tool.completed', 'run.ended'].map((type) => counts.get(type as never)?.length),
    ).toEqual([1, 2, 2, 1]);
    expect(await theirs.verify()).toMatchObject({ ok: true });
  });

  test('[WR5, LOOP8] a tracker and a fence token whose claim was lost are fenced, also if the next claim has the same epoch', async () => {
    const place = await newPlace(kind);
    const session = await (await open(place)).sessions.open();
    const loseCommits = await place.keep();
    const beginning = { tool: 'pay', input: {}, effects: 'once', repeat: 'allow' } as const;
    const { callId, token } = await session.beginCall(beginning);
    await loseCommits();
    const theirs = await (await open(place)).sessions.get(session.id);
    const begun = await theirs.beginCall(beginning);
    expect(begun.token.split('.')[0]).toBe(token.split('.')[0]);
    await expect(session.endCall(callId, { token, output: 'paid' })).rejects.toMatchObject({ code: 'FENCED' });
    await theirs.endCall(begun.callId, { token: begun.token, output: 'paid' });
    expect((await theirs.toolCalls()).calls).toMatchObject([{ callId: begun.callId, status: 'ok' }]);
  });

  test('[WR6] a tracker whose claim is left but whose call was lost is fenced, so no call has an end without a beginning', async () => {
    const place = await newPlace(kind);
    const session = await (await open(place)).sessions.open();
    const mayEnd = Promise.withResolvers<void>();
    const isPaying = Promise.withResolvers<void>();
    const { pay } = await session.track({
      pay: async () => {
        isPaying.resolve();
        await mayEnd.promise;
      },
    });
    const loseCommits = await place.keep();
    const paying = pay();
    await isPaying.promise;
    await loseCommits();
    mayEnd.resolve();
    await paying;
    await expect(pay()).rejects.toMatchObject({ code: 'FENCED' });
    expect((await Array.fromAsync(session.events())).map(({ type }) => type)).toEqual([
      'session.opened',
      'session.tracked',
    ]);
  });
});
