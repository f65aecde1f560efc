import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { Session } from './session.ts';
import type { TranscriptEntry } from './transcript.ts';

const open = async () => (await openRuntime({ store: openMemoryStore() })).sessions.open();

const addTurns = async (session: Session, from: number, to: number) => {
  for (let turn = from; turn <= to; turn++) {
    await session.append({ role: 'user', content: `ask ${turn}` });
    await session.append({ role: 'assistant', content: `answer ${turn}` });
  }
};

/** A compaction whose summary is waited for, as a model's is. */
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

test('[CTX7] a summary of turns that were undone while it was made is refused', async () => {
  const session = await open();
  await addTurns(session, 1, 8);
  const { compaction, summary } = await beginCompaction(session);
  await session.rewind({ to: { turn: 2 } });
  summary.resolve('what turns 1 to 7 were about');
  await expect(compaction).rejects.toMatchObject({ code: 'CONFLICT' });
  await addTurns(session, 9, 9);
  expect(await session.context()).toMatchObject({ system: '', messages: { length: 6 } });
});

test('[CTX7] a summary that goes on from a compaction that is no longer the newest is refused', async () => {
  const session = await open();
  await addTurns(session, 1, 4);
  const { compaction, summary } = await beginCompaction(session);
  await session.compact({ keepTurns: 2, summarize: () => 'the first to be done' });
  summary.resolve('the second');
  await expect(compaction).rejects.toMatchObject({ code: 'CONFLICT' });
  expect((await session.context()).system).toContain('the first to be done');
});

test('[CTX7] a summary is taken when turns after its range were undone or added', async () => {
  const session = await open();
  await addTurns(session, 1, 4);
  const { compaction, summary } = await beginCompaction(session);
  await session.rewind({ to: { turn: 3 } });
  await addTurns(session, 5, 5);
  summary.resolve('turns 1 to 3');
  expect(await compaction).toMatchObject({ evicted: ['turns:1-3'] });
  expect(await session.context()).toMatchObject({ messages: { length: 2 } });
});

test('[CTX5] what stands before the first turn can be recalled by its key', async () => {
  const session = await open();
  await session.append({ role: 'system', content: 'set up' });
  await addTurns(session, 1, 3);
  expect(await session.compact({ keepTurns: 3 })).toMatchObject({ evicted: ['turn:0'] });
  expect(textsOf(await session.recall('turn:0'))).toEqual([expect.stringContaining('set up')]);
  expect(await session.compact({ keepTurns: 1 })).toMatchObject({ evicted: ['turns:0-2'] });
  expect(textsOf(await session.recall('turns:0-2'))).toHaveLength(5);
  await expect(session.recall('turn:-1')).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
});

test('[CTX5] a summary that no context could hold is refused', async () => {
  const session = await open();
  await addTurns(session, 1, 3);
  const summarize = () => 'x'.repeat(20_001);
  await expect(session.compact({ keepTurns: 1, summarize })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});
