import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { failureOf } from '../support/failure-of.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

interface Refund {
  readonly order: string;
}

describe.each(storeKinds)('calls that a tracker left in flight, on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  let other: Runtime;
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address, onWarning: () => undefined });
    other = await openRuntime({ store: place.address });
  });
  afterAll(async () => {
    await Promise.all([runtime.close(), other.close()]);
    await place.remove();
  });

  /** A session whose first loop hangs in a call of `refund`, and a handle on it in another runtime. */
  const leaveCall = async (declaration: object = {}) => {
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'go' });
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<string>();
    const refund = async (_: Refund, __: { toolCallId: string }) => {
      started.resolve();
      return finish.promise;
    };
    const first = await session.track({ refund }, { refund: declaration });
    const hanging = first.refund({ order: 'A1' }, { toolCallId: 'c1' });
    await started.promise;
    const finishLate = async () => {
      finish.resolve('late');
      expect(await hanging).toBe('late');
    };
    return { session, first, finishLate, later: await other.sessions.get(session.id) };
  };
  const statuses = async (session: Session) =>
    (await session.toolCalls()).calls.map(({ callId, status }) => [callId, status]);

  test('[LOOP3] tracking fences the loop before, even before the new loop makes a call', async () => {
    const { session, first, later, finishLate } = await leaveCall();
    await later.track({ refund: async () => 'never' });
    expect(await failureOf(first.refund({ order: 'A2' }, { toolCallId: 'c2' }))).toMatchObject({ code: 'FENCED' });
    await finishLate();
    expect(await statuses(session)).toEqual([['c1', 'interrupted']]);
  });

  test('[LOOP3] a handle that tracks further tools keeps its claim', async () => {
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'go' });
    const one = await session.track({ one: async () => 1 });
    const two = await session.track({ two: async () => 2 });
    expect([await one.one(), await two.two()]).toEqual([1, 2]);
    const types = (await Array.fromAsync(session.events())).map(({ type }) => type);
    expect(types.filter((type) => type === 'session.tracked')).toHaveLength(1);
  });

  test.each(['none', 'idempotent'] as const)(
    '[LOOP4] a call with the effects %s runs again with its input and id, and commits its changes',
    async (effects) => {
      const { session, later, finishLate } = await leaveCall({ effects });
      const refund = vi.fn(async ({ order }: Refund, _: { toolCallId: string }) => `refunded ${order}`);
      await later.track({ refund }, { refund: { effects, files: () => ({ 'ledger.csv': 'modified' }) } });
      expect(refund).toHaveBeenCalledExactlyOnceWith({ order: 'A1' }, { toolCallId: 'c1', messages: [] });
      expect(await statuses(session)).toEqual([['c1', 'ok']]);
      expect((await session.state()).filesModified).toMatchObject({ 'ledger.csv': { callId: 'c1' } });
      const types = (await Array.fromAsync(session.events())).map(({ type }) => type);
      expect(types.slice(-4)).toEqual(['session.tracked', 'tool.retried', 'tool.completed', 'state.committed']);
      await finishLate();
      expect(await statuses(session)).toEqual([['c1', 'ok']]);
    },
  );

  test('[LOOP4] a once call that reconcile finds gets the output that reconcile returns', async () => {
    const { session, later } = await leaveCall();
    const refund = vi.fn(async (_: Refund) => 'again');
    const reconcile = vi.fn(async ({ order }: Refund, _: { callId: string }) => ({
      outcome: 'ok' as const,
      output: `found ${order}`,
    }));
    await later.track({ refund }, { refund: { effects: 'once', reconcile } });
    expect(reconcile).toHaveBeenCalledExactlyOnceWith({ order: 'A1' }, { callId: 'c1' });
    expect(refund).not.toHaveBeenCalled();
    expect(await statuses(session)).toEqual([['c1', 'ok']]);
    expect(await session.recall('call:c1')).toMatchObject({ output: 'found A1' });
    expect((await session.toolCalls()).calls).toMatchObject([{ source: 'reconcile' }]);
  });

  test('[LOOP4] a once call that reconcile knows did not run is run', async () => {
    const { session, later } = await leaveCall();
    const refund = vi.fn(async (_: Refund) => 'refunded');
    await later.track({ refund }, { refund: { reconcile: () => ({ outcome: 'not-run' }) } });
    expect(refund).toHaveBeenCalledOnce();
    expect(await session.recall('call:c1')).toMatchObject({ status: 'ok', output: 'refunded' });
  });

  test.each([
    ['does not exist', undefined],
    ['does not know', () => ({ outcome: 'unknown' as const, message: 'the bank is closed' })],
    ['returns nothing', (): never => undefined as never],
    [
      'throws',
      () => {
        throw new Error('the bank is closed');
      },
    ],
  ])('[LOOP10] a once call ends as interrupted when reconcile %s', async (_, reconcile) => {
    const { session, later } = await leaveCall({ effects: 'once' });
    const refund = vi.fn(async (_: Refund) => 'again');
    await later.track({ refund }, { refund: { ...(reconcile && { reconcile }) } });
    expect(refund).not.toHaveBeenCalled();
    expect(await session.recall('call:c1')).toMatchObject({
      status: 'interrupted',
      error: {
        message: expect.stringMatching(reconcile ? /not known.*(the bank is closed|returned nothing)/ : /not known/),
      },
    });
  });

  test('[LOOP10] a call of another tool is left to the set that has it, until the first call', async () => {
    const { session, later } = await leaveCall({ effects: 'none' });
    const others = await later.track({ other: async () => 1 });
    expect(await statuses(session)).toEqual([['c1', 'running']]);
    await later.track({ refund: async (_: Refund) => 'again' }, { refund: { effects: 'none' } });
    expect(await statuses(session)).toEqual([['c1', 'ok']]);
    const left = await leaveCall();
    const rest = await left.later.track({ other: async () => 1 });
    await Promise.all([rest.other(), others.other()]);
    expect((await left.session.toolCalls()).calls.map(({ tool, status }) => [tool, status])).toEqual([
      ['other', 'ok'],
      ['refund', 'interrupted'],
    ]);
    expect(await left.session.verify()).toMatchObject({ ok: true });
  });
});
