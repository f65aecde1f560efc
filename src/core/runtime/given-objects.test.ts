import { expect, onTestFinished, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import type { MessageInput } from '../../schema/message.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { defineAgent } from '../session/agent.ts';

const coder = defineAgent({ name: 'coder', version: 1, model: 'scripted/demo' });

const begin = async () => {
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [coder], worker: false });
  onTestFinished(() => runtime.close());
  return { runtime, session: await runtime.sessions.open({ agent: coder }) };
};

interface MutableValue {
  v: number;
}

const noted = (given: MutableValue): MessageInput => ({
  role: 'assistant',
  content: [{ type: 'text', text: 'hm', provider: { given: [given] as never } }],
});
const called = (given: MutableValue): MessageInput => ({
  role: 'assistant',
  content: [{ type: 'tool-call', callId: 'c2', tool: 't', input: given as never }],
});
const result = (given: MutableValue): MessageInput => ({
  role: 'tool',
  content: [{ type: 'tool-result', callId: 'c1', tool: 't', outcome: 'ok', output: given as never, untrusted: false }],
});

test.each([
  ["a provider's metadata", noted],
  ['the input of a call', called],
  ['the output of a call', result],
])('[KEY5] %s is used as it was at the append, in the event, the log and the key', async (_, message) => {
  const { session } = await begin();
  await session.append({ role: 'assistant', content: [{ type: 'tool-call', callId: 'c1', tool: 't', input: null }] });
  const given = { v: 1 };
  const appending = session.append(message(given), { idempotencyKey: 'k' });
  given.v = 2;
  const [event] = await appending;
  const { content } = event!.payload.message;
  expect(content).toEqual(message({ v: 1 }).content);
  expect((await session.transcript()).entries.at(-1)?.message.content).toEqual(content);
  expect(await session.append(message({ v: 1 }), { idempotencyKey: 'k' })).toEqual([event]);
});

test('[KEY1] an input is stored as it was at the call, even if the caller changes it afterwards', async () => {
  const { session } = await begin();
  const given = { v: 1 };
  const content = () => [{ type: 'text', text: 'go', provider: given }] as const;
  const sending = session.send(content(), { idempotencyKey: 'k' });
  given.v = 2;
  const run = await sending;
  const events = await Array.fromAsync(session.events());
  expect(events.find(({ type }) => type === 'input.admitted')?.payload).toMatchObject({
    message: { content: [{ provider: { v: 1 } }] },
  });
  given.v = 1;
  expect((await session.send(content(), { idempotencyKey: 'k' })).id).toBe(run.id);
});

test.each(['files', 'artifacts'] as const)(
  '[KEY1, FILE37] bytes for %s are stored as they were at the call, even if the caller changes them',
  async (where) => {
    const { session } = await begin();
    const bytes = Buffer.from('one');
    const keeping = where === 'files' ? session.files.write('a', bytes) : session.artifacts.keep('a', bytes);
    bytes.write('two');
    await keeping;
    expect(Buffer.from(await session[where].read('a')).toString()).toBe('one');
  },
);

test('[AUD1] a privileged verb uses the arguments that the audit log records, even if the caller changes them meanwhile', async () => {
  const { runtime } = await begin();
  const member = { id: 'ann', role: 'viewer' as const };
  const adding = runtime.members.add(member);
  member.id = 'bob';
  expect(await adding).toMatchObject({ id: 'ann' });
});

test('[KEY1, AUD1] a privileged verb uses its nested options as they were at the call', async () => {
  const { runtime } = await begin();
  const asked = { areas: ['sessions'] as 'sessions'[] };
  const creating = runtime.keys.create(asked);
  asked.areas.push('vault' as never);
  expect((await creating).key.areas).toEqual(['sessions']);
});

test('[IN10] an append accepts at most 1,000 messages, and its error states the limit', async () => {
  const { session } = await begin();
  const messages = (count: number) => Array.from({ length: count }, () => ({ role: 'user', content: 'x' }) as const);
  await expect(session.append(messages(1001))).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('1000'),
  });
  expect(await session.append(messages(1000))).toHaveLength(1000);
  expect((await session.summary()).messages).toBe(1000);
});
