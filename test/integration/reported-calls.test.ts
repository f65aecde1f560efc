import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MessageInput, openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { failureOf } from '../support/failure-of.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const called = (callId: string, tool = 'write', input: object = { path: 'a.ts' }): MessageInput => ({
  role: 'assistant',
  content: [{ type: 'tool-call', callId, tool, input: { ...input } as never }],
});
const answered = (callId: string, output = 'done', tool = 'write'): MessageInput => ({
  role: 'tool',
  content: [{ type: 'tool-result', callId, tool, outcome: output === 'broken' ? 'threw' : 'ok', output }],
});
/** A result of a tool that does not read the outside world. */
const vouched = (...given: Parameters<typeof answered>): MessageInput => {
  const { role, content } = answered(...given) as Extract<MessageInput, { role: 'tool' }>;
  return { role, content: content.map((part) => ({ ...part, untrusted: false })) };
};
const typesOf = async (session: Session) => (await Array.fromAsync(session.events())).map(({ type }) => type);

describe.each(storeKinds)('calls that a loop only appends, on %s', (kind) => {
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

  test('[LOOP6] an append of calls and their results adds a record of each call and one commit', async () => {
    const session = await begin();
    const { seq } = await session.summary();
    const events = await session.append(
      [called('c1'), answered('c1'), called('c2', 'test', {}), answered('c2', 'broken', 'test')],
      { files: { c1: { 'src/a.ts': 'created' } } },
    );
    expect(events.map(({ type }) => type)).toEqual(Array(4).fill('message.appended'));
    expect((await session.toolCalls()).calls).toMatchObject([
      { callId: 'c2', tool: 'test', status: 'threw', turn: 1 },
      { callId: 'c1', tool: 'write', status: 'ok', turn: 1, outputHash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
    const [commit, ...others] = (await session.commits()).commits;
    expect(others).toEqual([]);
    expect(commit).toMatchObject({ turn: 1 });
    expect(commit!.provenance).toBeUndefined();
    const { toolsUsed, filesModified } = await session.state();
    expect(toolsUsed).toEqual({ write: { calls: 1, ok: 1, failed: 0 }, test: { calls: 1, ok: 0, failed: 1 } });
    expect(filesModified).toEqual({ 'src/a.ts': { change: 'created', tool: 'write', callId: 'c1' } });
    const diff = await session.diff({ seq }, { seq: (await session.summary()).seq });
    expect(diff.filesModified).toMatchObject([{ id: 'src/a.ts', after: { tool: 'write' } }]);
    expect(await session.verify()).toMatchObject({ ok: true });
    expect(await runtime.sessions.rebuildProjections()).toBeGreaterThan(0);
    expect((await session.toolCalls()).calls.map(({ status }) => status)).toEqual(['threw', 'ok']);
  });

  test('[LOOP6] a result in a later append completes the call with the same hash of its input', async () => {
    const session = await begin();
    await session.append([called('c1'), called('c2', 'write', { path: 'b.ts' })]);
    expect((await session.toolCalls()).calls).toEqual([]);
    await session.append(answered('c1'));
    await session.append([called('c3'), answered('c3')]);
    const [again, first] = (await session.toolCalls()).calls;
    expect([first!.callId, again!.callId]).toEqual(['c1', 'c3']);
    expect(again!.inputHash).toBe(first!.inputHash);
    expect((await session.commits()).commits).toMatchObject([
      { cause: { tool: 'write', callId: 'c3' }, inputHash: first!.inputHash, outputSummary: 'done' },
      { cause: { tool: 'write', callId: 'c1' } },
    ]);
    expect((await session.state()).toolsUsed.write).toEqual({ calls: 2, ok: 2, failed: 0 });
  });

  test('[LOOP6, HAP16] inputs and results of reported calls are in their records and in what already happened', async () => {
    const session = await begin();
    await session.append([called('c1', 'write', { path: 'first.ts' }), vouched('c1')]);
    const asked = called('c1', 'write', { path: 'b.ts' });
    await session.append([asked, called('c2', 'test', {})]);
    await session.append(Array.from({ length: 40 }, (_, n): MessageInput => ({ role: 'assistant', content: `${n}` })));
    await session.append([vouched('c1', 'written'), vouched('c2', 'broken', 'test')]);
    const calls = (await session.toolCalls({ input: true })).calls;
    expect(calls.map(({ input, output, error }) => ({ input, output, error }))).toEqual([
      { input: {}, error: { name: 'Error', message: 'broken' } },
      { input: { path: 'b.ts' }, output: 'written' },
      { input: { path: 'first.ts' }, output: 'done' },
    ]);
    const { happened } = await session.rewind({ to: { turn: 0 } });
    expect(happened.calls.map(({ tool, input }) => [tool, input])).toEqual([
      ['write', '{"path":"first.ts"}'],
      ['write', '{"path":"b.ts"}'],
      ['test', '{}'],
    ]);
    expect((await session.context()).system).toContain('{"path":"b.ts"}');
  });

  test('[HAP17] a call that was appended without a result has an unknown outcome when the session goes back', async () => {
    const session = await begin();
    const tools = await session.track({ write: async (_: { path: string }) => 'done' });
    await tools.write({ path: 'tracked.ts' });
    await session.append(called('c1', 'write', { path: 'tracked.ts' }));
    await session.append(called('c2', 'refund', { order: 7 }));
    expect(await failureOf(session.retry({ turn: 1 }))).toMatchObject({ code: 'EFFECTS_HAPPENED' });
    const { happened } = await session.retry({ turn: 1, again: true });
    expect(happened.calls.map(({ tool, input, outcome }) => [tool, input, outcome])).toEqual([
      ['write', '{"path":"tracked.ts"}', 'ok'],
      ['refund', '{"order":7}', 'running'],
    ]);
    expect((await session.context()).system).toContain('refund {"order":7}');
  });

  test('[LOOP6] an append with the same idempotency key reports its calls once', async () => {
    const session = await begin();
    const messages = [called('c1'), answered('c1')];
    for (let times = 0; times < 2; times++) {
      const events = await session.append(messages, { idempotencyKey: 'step-1' });
      expect(events.map(({ payload }) => payload.message.role)).toEqual(['assistant', 'tool']);
    }
    expect((await session.toolCalls()).calls).toHaveLength(1);
    const changed = session.append(messages, { idempotencyKey: 'step-1', files: { c1: { 'a.ts': 'deleted' } } });
    expect(await failureOf(changed)).toMatchObject({ code: 'KEY_REUSED' });
  });

  test('[LOOP7] a tracked call has one record, whenever its messages are appended', async () => {
    const session = await begin();
    const tools = await session.track({ write: async (_: { path: string }, __?: { toolCallId: string }) => 'done' });
    await tools.write({ path: 'a.ts' }, { toolCallId: 'c1' });
    await session.append([called('c1'), answered('c1')]);
    await session.append(called('c2'));
    await tools.write({ path: 'a.ts' }, { toolCallId: 'c2' });
    await session.append(answered('c2'));
    await session.append(called('toolu_1', 'write', { path: 'b.ts' }));
    await tools.write({ path: 'b.ts' });
    await session.append(answered('toolu_1'));
    expect(await typesOf(session)).not.toContain('call.reported');
    expect((await session.state()).toolsUsed.write).toEqual({ calls: 3, ok: 3, failed: 0 });
    await session.append([called('c1'), answered('c1')]);
    expect((await session.toolCalls()).calls).toHaveLength(4);
  });

  test('[LOOP6] files of a call that the append does not report are rejected', async () => {
    const session = await begin();
    const files = { c9: { 'a.ts': 'created' as const } };
    expect(await failureOf(session.append([called('c1'), answered('c1')], { files }))).toMatchObject({
      code: 'INVALID_INPUT',
      details: { callId: 'c9' },
    });
    expect(await typesOf(session)).toEqual(['session.opened', 'message.appended']);
  });

  test('[LOOP6] any tool name that a message may have can be reported', async () => {
    const session = await begin();
    for (const [index, tool] of ['__proto__', 'größer als', 'a/b~c', 'x'.repeat(200), 'constructor'].entries()) {
      await session.append([called(`c${index}`, tool), answered(`c${index}`, 'done', tool)]);
      expect((await session.toolCalls({ limit: 1 })).calls).toMatchObject([{ tool, status: 'ok' }]);
    }
    expect(await session.verify()).toMatchObject({ ok: true });
  });
});
