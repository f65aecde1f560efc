import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { startPayments } from '../support/loops/payments.ts';
import type { LoopPlan } from '../support/loops/refund-loop.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const loop = fileURLToPath(new URL('../support/loops/refund-loop.ts', import.meta.url));

describe.each(storeKinds)('tracked calls in the context of a session, on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address });
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });
  const begin = async () => {
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'go' });
    return session;
  };
  const statuses = async (session: Session) => (await session.toolCalls()).calls.map(({ status }) => status);
  const resultsOf = async (session: Session) =>
    (await session.context()).messages.flatMap(({ role, content }) => (role === 'tool' ? content : []));

  test('[LOOP1, LOOP2] a call is shown without its message, and once when its message is appended', async () => {
    const session = await begin();
    const tools = await session.track({ refund: async (_: { order: string }, __: { toolCallId: string }) => 'paid' });
    await tools.refund({ order: 'A1' }, { toolCallId: 'c1' });
    const shown = await session.context();
    expect(shown.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'c1', tool: 'refund', input: { order: 'A1' } }] },
      { role: 'tool', content: [{ callId: 'c1', outcome: 'ok', output: 'paid' }] },
    ]);
    expect(await session.context()).toEqual(shown);
    const content = [{ type: 'tool-call', callId: 'c1', tool: 'refund', input: { order: 'A1' } }] as const;
    await session.append({ role: 'assistant', content });
    await session.append({ role: 'user', content: 'and?' });
    expect((await session.context()).messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    const branch = await session.fork({ at: { turn: 1 } });
    expect(await resultsOf(branch)).toMatchObject([{ callId: 'c1', output: 'paid' }]);
  });

  test('[LOOP11] a compaction covers the tracked calls of its turns, which can be recalled', async () => {
    const session = await begin();
    const tools = await session.track({ refund: async (_: { order: string }, __: { toolCallId: string }) => 'paid' });
    await tools.refund({ order: 'A1' }, { toolCallId: 'c1' });
    await session.append({ role: 'user', content: 'next' });
    await tools.refund({ order: 'B2' }, { toolCallId: 'c2' });
    expect(await session.compact({ keepTurns: 1 })).toMatchObject({
      summary: expect.stringContaining('used refund'),
      evicted: [{ key: 'turn:1' }, { key: 'refund:order A1@turn:1', name: 'refund with order A1 in turn 1' }],
    });
    expect((await resultsOf(session)).map(({ callId }) => callId)).toEqual(['c2']);
    expect(await session.recall('call:c1')).toMatchObject({ output: 'paid' });
    expect(await session.recall('refund with order A1 in turn 1')).toMatchObject([{ output: 'paid' }]);
  });

  test('[LOOP5] a context shows a call in flight as unknown, and leaves its loop at work', async () => {
    const session = await begin();
    const [started, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const tools = await session.track({
      refund: async () => {
        started.resolve();
        return finish.promise;
      },
    });
    const refunding = tools.refund();
    await started.promise;
    const other = await openRuntime({ store: place.address });
    const theirs = await other.sessions.get(session.id);
    const { seq } = await session.summary();
    expect(await resultsOf(theirs)).toMatchObject([
      { outcome: 'interrupted', output: expect.stringMatching(/not known. Check before you repeat it/) },
    ]);
    expect((await session.summary()).seq).toBe(seq);
    finish.resolve('paid');
    await refunding;
    expect(await resultsOf(theirs)).toMatchObject([{ outcome: 'ok', output: 'paid' }]);
    await other.close();
  });

  test.skipIf(process.platform !== 'linux').each([
    ['ends it as interrupted', false, 'interrupted'],
    ['leaves it to reconcile', true, 'running'],
  ] as const)(
    '[LOOP5] a context of a session whose loop was killed in a call %s (needs /proc)',
    async (_, reconciles, status) => {
      const payments = await startPayments();
      const session = await begin();
      const order = `A-${reconciles}`;
      const paid = payments.holdNext(order);
      const { address } = place;
      const plan: LoopPlan = { kind: 'plain', session: session.id, payments: payments.url, order, address, reconciles };
      const child = fork(loop, [JSON.stringify(plan)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
      const died = once(child, 'exit');
      await paid;
      child.kill('SIGKILL');
      await died;
      const reader = runtime.as({ workspace: 'local', member: 'reader', role: 'viewer' });
      expect(await resultsOf(await reader.sessions.get(session.id))).toMatchObject([{ outcome: 'interrupted' }]);
      expect(await statuses(session)).toEqual(['running']);
      expect(await resultsOf(session)).toMatchObject([
        { outcome: 'interrupted', output: expect.stringContaining('whether it took effect is not known') },
      ]);
      expect(await statuses(session)).toEqual([status]);
      expect((await session.context()).messages).toHaveLength(3);
      expect(await session.verify()).toMatchObject({ ok: true });
    },
  );
});
