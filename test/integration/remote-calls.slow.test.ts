import { describe, expect, onTestFinished, test } from 'vitest';
import { type Client, connect } from '../../src/client/index.ts';
import { openRuntime } from '../../src/index.ts';
import { failureOf } from '../support/failure-of.ts';
import { startTestServer } from '../support/servers/http-server.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

describe.each(storeKinds)('calls that a loop begins and ends by HTTP, on %s', (kind) => {
  const refund = { tool: 'refund', input: { order: 'A1' }, effects: 'once' } as const;

  const begin = async () => {
    const place = await newStorePlace(kind);
    onTestFinished(() => place.remove());
    const { server, keys, ask } = await startTestServer({}, { store: place.address }, { hasWorker: false });
    const client: Client = connect({ url: server.url, key: keys.member });
    const session = await client.sessions.open();
    await session.append({ role: 'user', content: 'go' });
    return { session, address: place.address, ask, path: `/v1/sessions/${session.id}` };
  };
  const typesIn = async (session: Awaited<ReturnType<typeof begin>>['session']) =>
    (await Array.fromAsync(session.events())).map(({ type }) => type);

  test('[LOOP8] a call is journaled before and after its tool runs, with the files that it changed', async () => {
    const { session } = await begin();
    const { callId, token } = await session.beginCall({ ...refund, callId: 'c1' });
    expect(callId).toBe('c1');
    expect((await session.toolCalls()).calls).toMatchObject([{ callId: 'c1', tool: 'refund', status: 'running' }]);
    await session.endCall('c1', { token, output: 'refunded', files: { 'ledger.csv': 'modified' } });
    const next = await session.beginCall({ tool: 'mail', input: null, token });
    expect(next).toEqual({ callId: expect.stringMatching(/^call_/), token });
    await session.endCall(next.callId, { token, error: { message: 'no such address' } });
    expect((await session.toolCalls()).calls).toMatchObject([
      { tool: 'mail', status: 'threw' },
      { tool: 'refund', status: 'ok' },
    ]);
    const { toolsUsed, filesModified } = await session.state();
    expect(toolsUsed).toMatchObject({ refund: { ok: 1 }, mail: { failed: 1 } });
    expect(filesModified).toMatchObject({ 'ledger.csv': { change: 'modified', tool: 'refund', callId: 'c1' } });
    const { messages } = await session.context();
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool']);
    expect(await typesIn(session)).toEqual([
      'session.opened',
      'message.appended',
      'session.tracked',
      'tool.called',
      'tool.completed',
      'state.committed',
      'tool.called',
      'tool.failed',
      'state.committed',
    ]);
  });

  test('[LOOP8, LOOP9] a second loop fences the first, and its calls in flight end as interrupted', async () => {
    const { session, ask, path } = await begin();
    const first = await session.beginCall({ ...refund, callId: 'c1' });
    const second = await session.beginCall({ ...refund, callId: 'c2' });
    const { seq } = await session.summary();
    const late = session.endCall('c1', { token: first.token, output: 'late' });
    expect(await failureOf(late)).toMatchObject({ code: 'FENCED' });
    expect(await failureOf(session.beginCall({ ...refund, token: first.token }))).toMatchObject({ code: 'FENCED' });
    const forged = `${second.token.split('.')[0]}.${first.token.split('.')[1]}`;
    expect(await failureOf(session.endCall('c2', { token: forged, output: 1 }))).toMatchObject({ code: 'FENCED' });
    const answer = await ask(`${path}/tool-calls/c1/end`, { method: 'POST', body: { token: first.token, output: 1 } });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([409, 'FENCED']);
    expect((await session.summary()).seq).toBe(seq);
    await session.endCall('c2', { token: second.token, output: 'refunded' });
    expect((await session.toolCalls()).calls.map(({ callId, status }) => [callId, status])).toEqual([
      ['c2', 'ok'],
      ['c1', 'interrupted'],
    ]);
  });

  test('[LOOP8] a tracker in a process and a loop by HTTP fence each other', async () => {
    const { session, address } = await begin();
    const runtime = await openRuntime({ store: address });
    const local = await runtime.sessions.get(session.id);
    const { token } = await session.beginCall({ ...refund, callId: 'c1' });
    const tools = await local.track({ refund: async (_: object) => 'again' }, { refund: { effects: 'none' } });
    expect((await session.toolCalls()).calls.map(({ status }) => status)).toEqual(['ok']);
    expect(await failureOf(session.endCall('c1', { token, output: 1 }))).toMatchObject({ code: 'FENCED' });
    await session.beginCall(refund);
    expect(await failureOf(tools.refund({}))).toMatchObject({ code: 'FENCED' });
    await runtime.close();
  });

  test('[LOOP9] a repeated request with the same idempotency key writes nothing and gets the same answer', async () => {
    const { session } = await begin();
    const begun = await session.beginCall(refund, { idempotencyKey: 'begin-1' });
    expect(await session.beginCall(refund, { idempotencyKey: 'begin-1' })).toEqual(begun);
    const { callId, token } = begun;
    for (let times = 0; times < 2; times++) {
      await session.endCall(callId, { token, output: 'refunded' }, { idempotencyKey: 'end-1' });
    }
    expect((await session.toolCalls()).calls).toMatchObject([{ callId, status: 'ok' }]);
    expect(await failureOf(session.endCall(callId, { token, output: 'again' }))).toMatchObject({
      code: 'INVALID_INPUT',
      details: { callId },
    });
    expect(await typesIn(session)).toHaveLength(6);
  });

  test('[LOOP8] a paused session begins no call, and a call that is in flight can still end', async () => {
    const { session } = await begin();
    const { callId, token } = await session.beginCall(refund);
    await session.pause();
    expect(await failureOf(session.beginCall({ ...refund, token }))).toMatchObject({ code: 'ILLEGAL_TRANSITION' });
    expect(await failureOf(session.beginCall(refund))).toMatchObject({ code: 'ILLEGAL_TRANSITION' });
    await session.endCall(callId, { token, output: 'refunded' });
    expect((await session.toolCalls()).calls).toMatchObject([{ status: 'ok' }]);
  });

  test('[HAP12] a begun `once` call that would repeat another is refused before it runs, unless repeat allows it', async () => {
    const { session, ask, path } = await begin();
    const { callId, token } = await session.beginCall(refund, { idempotencyKey: 'first' });
    await session.endCall(callId, { token, output: 'refunded' });
    await session.retry({ turn: 1, again: true });
    const types = await typesIn(session);
    for (const repeat of [undefined, 'ask', 'deny'] as const) {
      expect(await failureOf(session.beginCall({ ...refund, repeat }))).toMatchObject({
        code: 'CALL_REPEATED',
        details: { tool: 'refund', earlier: { session: session.id, callId, outcome: 'ok' } },
      });
    }
    const answer = await ask(`${path}/tool-calls`, { method: 'POST', body: refund });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([409, 'CALL_REPEATED']);
    expect(await typesIn(session)).toEqual(types);
    // The first request is only repeated here, so it gets its answer.
    expect(await session.beginCall(refund, { idempotencyKey: 'first' })).toMatchObject({ callId });
    const other = await session.beginCall({ ...refund, input: { order: 'B' } });
    expect(await failureOf(session.beginCall({ ...refund, token: other.token }))).toMatchObject({
      code: 'CALL_REPEATED',
    });
    const again = await session.beginCall({ ...refund, repeat: 'allow', token: other.token });
    await session.endCall(again.callId, { token: again.token, output: 'refunded' });
  });

  test('[LOOP8] a session that a person holds begins no call of another member', async () => {
    const { session, address } = await begin();
    const runtime = await openRuntime({ store: address });
    onTestFinished(() => runtime.close());
    await (await runtime.sessions.get(session.id)).handoff({ to: { role: 'admin' } });
    expect(await failureOf(session.beginCall(refund))).toMatchObject({ code: 'SESSION_HELD' });
    expect((await session.toolCalls()).calls).toEqual([]);
  });
});
