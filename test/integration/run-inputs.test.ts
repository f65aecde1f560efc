import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, openRuntime, type Run, type Session } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const script = defineScript({
  name: 'test',
  everyTurn: true,
  steps: [{ when: { userMatches: 'drop' }, calls: [{ tool: 'drop', input: {} }] }, { text: 'Answered.' }],
});
const drop = defineTool({ name: 'drop', input: z.object({}), approval: true, execute: () => 'dropped' });
const agent = defineAgent({ name: 'tester', version: 1, model: script, tools: [drop] });

describe.each(storeKinds)('the inputs that wait in a session on %s', (kind) => {
  let place: StorePlace;
  beforeAll(async () => {
    place = await newStorePlace(kind);
  });
  afterAll(() => place.remove());

  const open = async () => {
    const runtime = await openRuntime({ store: place.address, agents: [agent], worker: false });
    onTestFinished(() => runtime.close());
    return runtime;
  };

  /** Checks the waiting inputs in this process, and in a runtime without caches. */
  const expectWaiting = async (session: Session, runs: readonly Run[]): Promise<void> => {
    const inputs = await session.inputs();
    expect(inputs.map(({ run }) => run)).toEqual(runs.map(({ id }) => id));
    const elsewhere = await open();
    expect(await (await elsewhere.sessions.get(session.id)).inputs()).toEqual(inputs);
  };

  test('[PIPE3, RUN2] an input that interrupts is answered before all that were waiting, and listed first', async () => {
    const runtime = await open();
    const session = await runtime.sessions.open({ agent });
    const first = await session.send('drop it');
    const worker = runtime.worker();
    await worker.start();
    expect(await first.result()).toMatchObject({ waitingFor: 'approval' });
    await worker.stop();
    const queued = [await session.send('two'), await session.send('three')];
    const urgent = await session.send('now', { policy: 'interrupt' });
    const newest = await session.send('no, this', { policy: 'interrupt' });
    expect(await first.waitForEnd()).toMatchObject({ status: 'cancelled' });
    const order = [newest, urgent, ...queued];
    await expectWaiting(session, order);
    await runtime.worker().runUntilIdle();
    for (const run of order) expect(await run.result()).toMatchObject({ status: 'succeeded' });
    const begun = (await Array.fromAsync(session.events())).flatMap(({ type, run }) =>
      type === 'run.started' ? [run] : [],
    );
    expect(begun).toEqual([first, ...order].map(({ id }) => id));
  });

  test('[RUN23, RUN37] are listed without a worker, behind a waiting run, during a pause and during a handoff, until each has begun, joined or ended', async () => {
    const runtime = await open();
    const session = await runtime.sessions.open({ agent });
    await expectWaiting(session, []);
    const notBefore = Date.now() + 3_600_000;
    const first = await session.send('drop it');
    const later = await session.send('later', { notBefore });
    const second = await session.send('two');
    await expectWaiting(session, [first, later, second]);
    const admitted = (await Array.fromAsync(session.events())).find(({ run }) => run === later.id);
    const { seq, actor: by } = admitted!;
    expect((await session.inputs())[1]).toEqual({ run: later.id, seq, by, policy: 'queue', notBefore });
    await runtime.worker().start();
    expect(await first.result()).toMatchObject({ waitingFor: 'approval' });
    const [asked] = await runtime.approvals.list();
    await expectWaiting(session, [later, second]);
    await session.pause();
    const regretted = await session.send('never mind');
    await expectWaiting(session, [later, second, regretted]);
    await regretted.cancel();
    await expectWaiting(session, [later, second]);
    await session.resume();
    await session.handoff({ to: 'human' });
    const steering = await session.send('faster', { policy: 'steer' });
    await expectWaiting(session, [later, second, steering]);
    await session.handoff({ to: 'agent' });
    await session.approve(asked!.id);
    await Promise.all([steering.waitForEnd(), second.waitForEnd()]);
    await expectWaiting(session, [later]);
    await expectWaiting(await session.fork(), []);
  });
});

test('[RUN25] a session rejects inputs beyond its limit, and accepts them again after some were cancelled', async () => {
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [agent], worker: false });
  onTestFinished(() => runtime.close());
  const large = await runtime.sessions.open({ agent });
  const text = 'x'.repeat(15 * 1024 * 1024);
  for (let each = 0; each < 4; each++) await large.send(text);
  await expect(large.send(text)).rejects.toMatchObject({ code: 'SESSION_BUSY', details: { waiting: 4 } });
  const many = await runtime.sessions.open({ agent });
  const first = await many.send('go', { idempotencyKey: 'first' });
  for (let each = 1; each < 1000; each++) await many.send('go');
  await expect(many.send('go')).rejects.toMatchObject({ code: 'SESSION_BUSY', details: { waiting: 1000 } });
  expect((await many.send('go', { idempotencyKey: 'first' })).id).toBe(first.id);
  await first.cancel();
  await many.send('go');
});
