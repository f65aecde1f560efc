import { expect, test } from 'vitest';
import { z } from 'zod';
import { openRuntime } from '../../runtime.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { Session } from '../runtime/session.ts';
import { defineAgent } from '../session/agent.ts';
import type { TranscriptEntry } from './transcript.ts';

const open = async () => (await openRuntime({ store: openMemoryStore() })).sessions.open();

const addTurns = async (session: Session, from: number, to: number) => {
  for (let turn = from; turn <= to; turn++) {
    await session.append({ role: 'user', content: `ask ${turn}` });
    await session.append({ role: 'assistant', content: `answer ${turn}` });
  }
};

/** Starts a compaction whose summary is still pending, as if a model were writing it. */
const beginCompaction = async (session: Session) => {
  const asked = Promise.withResolvers<void>();
  const summary = Promise.withResolvers<string>();
  const compaction = session.compact({
    keepTurns: 1,
    summarize: () => {
      asked.resolve();
      return summary.promise;
    },
  });
  await asked.promise;
  return { compaction, summary };
};

const textsOf = (entries: unknown) =>
  (entries as readonly TranscriptEntry[]).map(({ message }) => JSON.stringify(message.content));

test('[CTX7] a summary of turns that were rewound meanwhile is rejected', async () => {
  const session = await open();
  await addTurns(session, 1, 8);
  const { compaction, summary } = await beginCompaction(session);
  await session.rewind({ to: { turn: 2 } });
  summary.resolve('what turns 1 to 7 were about');
  await expect(compaction).rejects.toMatchObject({ code: 'CONFLICT' });
  await addTurns(session, 9, 9);
  expect(await session.context()).toMatchObject({ system: '', messages: { length: 6 } });
});

test('[CTX7] a summary based on a compaction that is no longer the newest is rejected', async () => {
  const session = await open();
  await addTurns(session, 1, 4);
  const { compaction, summary } = await beginCompaction(session);
  await session.compact({ keepTurns: 2, summarize: () => 'the first to be done' });
  summary.resolve('the second');
  await expect(compaction).rejects.toMatchObject({ code: 'CONFLICT' });
  expect((await session.context()).system).toContain('the first to be done');
});

test('[CTX7] a summary is accepted when turns after its range were rewound or added', async () => {
  const session = await open();
  await addTurns(session, 1, 4);
  const { compaction, summary } = await beginCompaction(session);
  await session.rewind({ to: { turn: 3 } });
  await addTurns(session, 5, 5);
  summary.resolve('turns 1 to 3');
  expect(await compaction).toMatchObject({ evicted: [{ key: 'turns:1-3', name: 'turns 1 to 3' }] });
  expect(await session.context()).toMatchObject({ messages: { length: 2 } });
});

test('[CTX12] messages before the first turn can be recalled by their key', async () => {
  const session = await open();
  await session.append({ role: 'system', content: 'set up' });
  await addTurns(session, 1, 3);
  expect(await session.compact({ keepTurns: 3 })).toMatchObject({ evicted: [{ key: 'turn:0' }] });
  expect(textsOf(await session.recall('turn:0'))).toEqual([expect.stringContaining('set up')]);
  expect(await session.compact({ keepTurns: 1 })).toMatchObject({ evicted: [{ key: 'turns:0-2' }] });
  expect(textsOf(await session.recall('turns:0-2'))).toHaveLength(5);
  expect(textsOf(await session.recall('turns 0 to 2'))).toHaveLength(5);
  await expect(session.recall('turn:-1')).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
});

test('[CTX5] a summary that is too long for any context is rejected', async () => {
  const session = await open();
  await addTurns(session, 1, 3);
  const summarize = () => 'x'.repeat(20_001);
  await expect(session.compact({ keepTurns: 1, summarize })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('[CTX5] a summary is cut between characters, not inside one', async () => {
  const session = await open();
  for (let pad = 155; pad <= 162; pad++) {
    await session.append({ role: 'user', content: `${'a'.repeat(pad)}😀😀 more` });
    await session.append({ role: 'assistant', content: 'ok' });
  }
  expect((await session.compact({ keepTurns: 1 }))!.summary.isWellFormed()).toBe(true);
});

test('[CTX13] a further compaction keeps the keys of earlier calls, and states how many calls it does not list', async () => {
  const session = await open();
  const callsOf = (turn: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({ callId: `c${turn}-${index}`, tool: 'read' }));
  const addCalls = async (turn: number, count: number, calls = callsOf(turn, count)) => {
    await session.append([
      { role: 'user', content: `ask ${turn}` },
      {
        role: 'assistant',
        content: calls.map((call) => ({ type: 'tool-call', ...call, input: { path: call.callId } })),
      },
      { role: 'tool', content: calls.map((call) => ({ type: 'tool-result', ...call, outcome: 'ok', output: 1 })) },
    ]);
  };
  for (let turn = 1; turn <= 2; turn++) await addCalls(turn, 1);
  await session.compact({ keepTurns: 1 });
  await addCalls(3, 1);
  const { evicted: first } = (await session.compact({ keepTurns: 1 }))!;
  expect(first.map(({ key }) => key)).toEqual(['turns:1-2', 'file:c1-0@turn:1', 'file:c2-0@turn:2']);
  for (let turn = 4; turn <= 6; turn++) await addCalls(turn, 150);
  const compacted = async (calls: number) => {
    const { evicted } = (await session.compact({ keepTurns: 1 }))!;
    const { system } = await session.context();
    const listed = evicted.slice(1).filter(({ name }) => system.includes(`- ${name}\n`));
    expect(system).toContain(`(and ${calls - listed.length} more calls, in these turns)`);
    const keys = evicted.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    return keys;
  };
  expect((await compacted(303)).at(-1)).toBe('file:c5-149@turn:5');
  await addCalls(7, 1);
  expect((await compacted(453)).at(-1)).toBe('file:c6-149@turn:6');
  await addCalls(8, 1);
  expect((await compacted(454))[0]).toBe('turns:1-7');
});

test('[CTX5] without a summarizer a turn is summarized in one line: the question, the tools used, the last answer', async () => {
  const session = await open();
  const calls = ['a', 'b', 'c'].map((callId, index) => ({ callId, tool: index < 2 ? 'read' : 'edit' }));
  await session.append([
    { role: 'user', content: 'mend\nthe test' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'looking' },
        ...calls.map((call) => ({ type: 'tool-call', ...call, input: {} }) as const),
      ],
    },
    { role: 'tool', content: calls.map((call) => ({ type: 'tool-result', ...call, outcome: 'ok', output: 1 })) },
    { role: 'assistant', content: 'mended' },
  ]);
  await addTurns(session, 2, 5);
  const first = 'Turn 1: asked "mend the test" used read ×2, edit answered "mended"';
  const kept = await session.compact();
  const keys = ['turn:1', 'read@turn:1', 'edit@turn:1'];
  expect(kept).toMatchObject({ summary: first, evicted: keys.map((key) => ({ key })), extracted: [], dropped: [] });
  await addTurns(session, 6, 6);
  const second = 'Turn 2: asked "ask 2" answered "answer 2"';
  const { summary, from, to } = (await session.compact())!;
  expect({ summary, from }).toEqual({ summary: `${first}\n${second}`, from: kept!.from });
  expect(to).toBeGreaterThan(kept!.to);
  expect(await session.compact()).toBeUndefined();
});

test.each(['', '  \n '])('[CTX5] an empty summary (%j) is rejected', async (summary) => {
  const session = await open();
  await addTurns(session, 1, 3);
  await expect(session.compact({ keepTurns: 1, summarize: () => summary })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
  expect(await session.context()).toMatchObject({ system: '', messages: { length: 6 } });
});

test('[CTX5] the default summary keeps the part of a long earlier summary that fits', async () => {
  const session = await open();
  await addTurns(session, 1, 4);
  await session.compact({ keepTurns: 1, summarize: () => 'IMPORTANT '.repeat(900) });
  await addTurns(session, 5, 8);
  const { summary } = (await session.compact({ keepTurns: 1 }))!;
  expect(summary).toMatch(/^(IMPORTANT ){700}/);
  expect(summary).toContain('Turn 7');
  expect(summary.length).toBeLessThanOrEqual(8000);
});

test('[IN1] unknown options of a compaction or a context are rejected', async () => {
  const session = await open();
  await addTurns(session, 1, 3);
  const wrong = { code: 'INVALID_INPUT' };
  await expect(session.compact({ keep: 1 } as never)).rejects.toMatchObject(wrong);
  await expect(session.compact({ summarize: 'x' } as never)).rejects.toMatchObject(wrong);
  await expect(session.context({ maxToken: 5 } as never)).rejects.toMatchObject(wrong);
  await expect(session.context({ maxTokens: '1000' } as never)).rejects.toMatchObject(wrong);
  await expect(session.context({ instructions: '\ud800' })).rejects.toMatchObject(wrong);
});

test('[CTX4, CTX6] a fact pinned in a turn appears in contexts from the next turn on', async () => {
  const session = await open();
  await addTurns(session, 1, 1);
  const before = await session.context();
  await session.commit((draft) => Object.assign(draft.facts, { rule: 'never push to main' }));
  await session.pin('rule');
  expect((await session.context()).system).toBe(before.system);
  await addTurns(session, 2, 2);
  expect((await session.context()).system).toContain('rule: never push to main');
});

test('[CTX12] a call that is only in the journal can be recalled, with its input and output', async () => {
  const session = await open();
  await addTurns(session, 1, 1);
  const tools = await session.track({
    read: async (_: { path: string }, __: { toolCallId: string }) => 'content',
    fail: async (_: unknown, __: { toolCallId: string }) => {
      throw new Error('no such file');
    },
  });
  await tools.read({ path: 'a.ts' }, { toolCallId: 'c1' });
  await tools.fail({}, { toolCallId: 'c2' }).catch(() => undefined);
  expect(await session.recall('call:c1')).toMatchObject({ tool: 'read', input: { path: 'a.ts' }, output: 'content' });
  const error = { name: 'Error', message: 'no such file' };
  expect(await session.recall('call:c2')).toMatchObject({ tool: 'fail', status: 'threw', error });
  await expect(session.recall('call:c3')).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
});

test('[CTX6] if the agent defines its own state, the context says how to recall it', async () => {
  const agent = defineAgent({ name: 'counter', version: 1, state: z.object({ count: z.number().optional() }) });
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [agent], worker: false });
  const session = await runtime.sessions.open({ agent });
  await session.commit((draft) => Object.assign(draft.own, { count: 42 }));
  await addTurns(session, 1, 1);
  expect((await session.context()).system).toContain('recall own');
  expect(await session.recall('own')).toEqual({ count: 42 });
});

test('[CTX5] a fact and a part of the state can be recalled by name, and an unknown key is rejected', async () => {
  const session = await open();
  await session.commit((draft) => Object.assign(draft.facts, { port: 8080, 'call:x': 'odd' }));
  expect(await session.recall('fact:port')).toBe(8080);
  expect(await session.recall('fact:call:x')).toBe('odd');
  expect(await session.recall('facts')).toEqual({ port: 8080, 'call:x': 'odd' });
  for (const key of ['constructor', 'fact:constructor', 'fact:', 'call:x', 'output:1', 'output:-1', 'turn:7', '']) {
    await expect(session.recall(key), key).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
  }
  const parts =
    'try one of turn:3, turns:1-4, file:PATH@turn:3, TOOL:INPUT@turn:3, call:ID, output:SEQ, fact:KEY, summary, happened, toolsUsed';
  for (const [key, advice] of [
    ['foo', parts],
    ['constructor', parts],
    ['turn:7', 'there is no turn yet'],
    ['call:x', 'use the id of a call'],
    ['output:1', 'use the seq'],
    ['fact:x', 'try facts'],
    ['summary', 'nothing was compacted yet'],
    ['happened', 'no call was left behind'],
  ] as const)
    await expect(session.recall(key)).rejects.toThrow(`there is nothing to recall under "${key}": ${advice}`);
  await session.append({ role: 'user', content: 'hello' });
  await expect(session.recall('turn:7')).rejects.toThrow('"turn:7": use a turn up to 1');
});
