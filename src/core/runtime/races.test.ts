import { describe, expect, test } from 'vitest';
import { newStorePlace } from '../../../test/support/stores/stores.ts';
import { openRuntime } from '../../runtime.ts';
import type { MessageInput } from '../../schema/message.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { Session } from './session.ts';

const asks = (content: string): MessageInput => ({ role: 'user', content });
const answers = (content: string): MessageInput => ({ role: 'assistant', content });
const calls = (callId: string): MessageInput => ({
  role: 'assistant',
  content: [{ type: 'tool-call', callId, tool: 'look', input: {} }],
});
const gives = (callId: string): MessageInput => ({
  role: 'tool',
  content: [{ type: 'tool-result', callId, tool: 'look', outcome: 'ok', output: 'x' }],
});

const rolesOf = async (session: Session) =>
  (await session.transcript()).entries.map(({ message, turn }) => `${message.role} ${turn}`);

const open = async (database = newMemoryDatabase()) => openRuntime({ store: openMemoryStore(database) });

describe('races', () => {
  test('[REW1, LOG4] a rewind resolves its point on the head that it is appended to, also after another rewind', async () => {
    const session = await (await open()).sessions.open();
    await session.append([asks('1'), answers('1'), asks('2')]);
    const [, second] = await Promise.allSettled([
      session.rewind({ to: { turn: 0 } }),
      session.rewind({ to: { turn: 1 } }),
    ]);
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'POINT_NOT_FOUND' } });
    expect(await rolesOf(session)).toEqual([]);
  });

  test('[REW1, LOG4] a rewind to a turn includes the events that were appended to that turn meanwhile', async () => {
    const session = await (await open()).sessions.open();
    await session.append([asks('1'), answers('1'), asks('2')]);
    await Promise.all([session.rewind({ to: { turn: 2 } }), session.append(answers('2'))]);
    expect(await rolesOf(session)).toEqual(['user 1', 'assistant 1', 'user 2', 'assistant 2']);
  });

  test('[REW1, LOG4] a turn that a rewind has just left behind cannot be retried', async () => {
    const session = await (await open()).sessions.open();
    await session.append([asks('1'), answers('1')]);
    const [, retried] = await Promise.allSettled([session.rewind({ to: { turn: 0 } }), session.retry({ turn: 1 })]);
    expect(retried).toMatchObject({ status: 'rejected', reason: { code: 'POINT_NOT_FOUND' } });
  });

  test('[STATE4] a mutation that was a no-op on the old state is applied to the new one', async () => {
    const database = newMemoryDatabase();
    const [here, there] = [await open(database), await open(database)];
    const mine = await here.sessions.open();
    const theirs = await there.sessions.get(mine.id);
    await mine.commit((draft) => Object.assign(draft.facts, { port: 1 }));
    await theirs.commit((draft) => Object.assign(draft.facts, { port: 2 }));
    await mine.commit((draft) => Object.assign(draft.facts, { port: 1 }));
    expect((await theirs.state()).facts).toEqual({ port: 1 });
  });

  test('[FOLD1] events that another process appended in between are in the fold, whichever process appends next', async () => {
    const database = newMemoryDatabase();
    const [here, there] = [await open(database), await open(database)];
    const mine = await here.sessions.open();
    const theirs = await there.sessions.get(mine.id);
    await theirs.summary();
    await mine.append([asks('a'), calls('c1')]);
    await theirs.append(gives('c1'));
    await mine.append(answers('b'));
    expect(await rolesOf(mine)).toEqual(await rolesOf(theirs));
    expect(await (await mine.fork()).summary()).toMatchObject({ status: 'active', messages: 4 });
  });
});

describe('a result whose call another process has handled', () => {
  const stale = async () => {
    const database = newMemoryDatabase();
    const [here, there] = [await open(database), await open(database)];
    const mine = await here.sessions.open();
    await mine.append([asks('1'), answers('1'), asks('2'), calls('c1')]);
    return { mine, theirs: await there.sessions.get(mine.id) };
  };

  test('[CTX3, CTX14, LOG4] is rejected when the call was settled meanwhile, and nothing is written', async () => {
    const { mine, theirs } = await stale();
    await theirs.append(gives('c1'));
    await expect(mine.append(gives('c1'))).rejects.toMatchObject({ code: 'INVALID_INPUT', details: { callId: 'c1' } });
    expect(await rolesOf(mine)).toEqual(['user 1', 'assistant 1', 'user 2', 'assistant 2', 'tool 2']);
  });

  test('[CTX3, CTX14, LOG4] is rejected when a rewind left the call behind', async () => {
    const { mine, theirs } = await stale();
    await theirs.rewind({ to: { turn: 1 } });
    await expect(mine.append(gives('c1'))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(await rolesOf(mine)).toEqual(['user 1', 'assistant 1']);
    expect(await (await mine.fork()).summary()).toMatchObject({ status: 'active' });
  });

  test('[CTX3, CTX14, LOG4] is appended late while its call is open, and at any head together with its call', async () => {
    const { mine, theirs } = await stale();
    await theirs.append(asks('3'));
    await mine.append(gives('c1'));
    await theirs.append(asks('4'));
    await mine.append([calls('c2'), gives('c2')]);
    expect((await rolesOf(mine)).slice(4)).toEqual(['user 3', 'tool 3', 'user 4', 'assistant 4', 'tool 4']);
  });

  test('[CTX3, LOG4] many results at the same time are all appended', async () => {
    const place = await newStorePlace('sqlite');
    const runtime = await openRuntime({ store: place.address });
    const session = await runtime.sessions.open();
    const ids = Array.from({ length: 40 }, (_, index) => `c${index}`);
    await session.append([asks('1'), ...ids.map(calls)]);
    await Promise.all(ids.flatMap((id) => [session.append(gives(id)), session.append(answers('meanwhile'))]));
    expect((await rolesOf(session)).filter((role) => role === 'tool 1')).toHaveLength(ids.length);
    await runtime.close();
    await place.remove();
  });
});

describe('forks and rewinds in the middle of a turn', () => {
  const started = async () => {
    const session = await (await open()).sessions.open();
    await session.append([asks('1'), calls('c1'), gives('c1'), answers('1')]);
    return session;
  };

  test('[FORK2] a fork after a result or a question is paused, and a fork after an answer is active', async () => {
    const session = await started();
    const statusAt = async (seq: number) => (await (await session.fork({ at: { seq } })).summary()).status;
    expect(await Promise.all([2, 3, 4, 6].map(statusAt))).toEqual(['paused', 'paused', 'paused', 'active']);
  });

  test('[FORK2, REW1] a rewind to an answer leaves nothing pending', async () => {
    const session = await started();
    await session.append(asks('2'));
    await session.rewind({ to: { turn: 1 } });
    expect(await (await session.fork()).summary()).toMatchObject({ status: 'active' });
  });

  test('[FORK2] a fork of a handed-off session belongs to the agent, and can be handed off itself', async () => {
    const session = await started();
    await session.handoff({ to: 'human' });
    const fork = await session.fork();
    expect((await fork.summary()).holder).toBe('agent');
    await fork.handoff({ to: 'human' });
    expect((await fork.summary()).holder).toBe('human');
  });

  test('[FORK2, TRACK2] a call in flight at the point of a fork stays with the parent, whatever happens to the fork', async () => {
    const session = await started();
    const { promise, resolve } = Promise.withResolvers<string>();
    const { wait } = await session.track({ wait: () => promise }, { wait: { effects: 'none' } });
    const waiting = wait();
    await expect.poll(async () => (await session.toolCalls({ status: ['running'] })).calls).toHaveLength(1);
    const fork = await session.fork();
    const { seq } = await fork.summary();
    await fork.close();
    expect((await fork.summary()).seq).toBe(seq + 1);
    resolve('done');
    expect(await waiting).toBe('done');
  });

  test('[REW1, CTX3] a rewind to before a compaction brings back what it had evicted', async () => {
    const session = await (await open()).sessions.open();
    for (let turn = 1; turn <= 6; turn++) await session.append([asks(`ask ${turn}`), answers(`reply ${turn}`)]);
    const before = (await session.context({ at: { turn: 5 } })).messages;
    await session.compact({ keepTurns: 1 });
    expect((await session.context()).messages.length).toBeLessThan(before.length);
    await session.rewind({ to: { turn: 5 } });
    expect((await session.context()).messages).toEqual(before);
  });
});

test('[ST3] a closing runtime waits for calls in flight, including calls that have not read anything yet', async () => {
  const database = newMemoryDatabase();
  const { id } = await (await open(database)).sessions.open();
  const runtime = await open(database);
  const session = await runtime.sessions.get(id);
  const calls = [session.append(asks('1')), session.fork(), session.transcript(), runtime.sessions.open()];
  await runtime.close();
  expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(calls.map(() => 'fulfilled'));
  await expect(session.append(asks('2'))).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
});
