import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { openRuntime, type Session } from '../../index.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { openMemoryStore } from '../../testing/index.ts';
import type { RuntimeStore } from '../ports/runtime-store.ts';
import { FairTurns } from './fair-turns.ts';

/** A runtime whose reads of logs are recorded. */
const start = async () => {
  const memory = openMemoryStore();
  const reads: number[] = [];
  const store = overrideStore<RuntimeStore>(memory, {
    read: (key, range) => {
      reads.push(range.after ?? 0);
      return memory.read(key, range);
    },
  });
  const runtime = await openRuntime({ store, worker: false });
  onTestFinished(() => runtime.close());
  return { reads, runtime, session: await runtime.sessions.open() };
};

/** Follows the session from its newest event on, and resolves once the follower waits. */
const follow = async (session: Session, after: number) => {
  const events = session.events({ after, follow: true });
  onTestFinished(async () => void (await events.return()));
  const next = events.next().then(({ value }) => value as SessionEvent);
  await turnOfLoop();
  return { events, next };
};

test('[WAKE12] one read serves all followers of a session, and they get the same frozen event', async () => {
  const { reads, session } = await start();
  const { seq } = await session.summary();
  const followers = await Promise.all(Array.from({ length: 100 }, () => follow(session, seq)));
  await turnOfLoop();
  reads.length = 0;
  await session.append({ role: 'user', content: 'Hello' });
  const read = reads.length;
  const seen = await Promise.all(followers.map(({ next }) => next));
  expect(new Set(seen).size).toBe(1);
  expect(Object.isFrozen(seen[0]!.payload)).toBe(true);
  expect(reads.slice(read)).toEqual([seq]);
});

test('[WAKE13] an append is acknowledged before any follower is woken, and followers are woken over several turns', async () => {
  const { session } = await start();
  const { seq } = await session.summary();
  const count = 100;
  const followers = await Promise.all(Array.from({ length: count }, () => follow(session, seq)));
  let woken = 0;
  for (const { next } of followers) void next.then(() => woken++);
  await session.append({ role: 'user', content: 'Hello' });
  expect(woken).toBe(0);
  const steps: number[] = [];
  while (woken < count) {
    const before = woken;
    await turnOfLoop();
    steps.push(woken - before);
  }
  expect(Math.max(...steps)).toBeLessThanOrEqual(16);
});

test('[WAKE2] a follower that falls behind the tail reads alone, and misses nothing', async () => {
  const { session } = await start();
  const { seq } = await session.summary();
  const quick = await follow(session, seq);
  const slow = await follow(session, seq);
  const all: SessionEvent[] = [];
  const isRead = (async () => {
    all.push(await quick.next);
    for await (const event of quick.events) if (all.push(event) === 200) return;
  })();
  for (let at = 0; at < 200; at++) await session.append({ role: 'user', content: String(at) });
  await isRead;
  const late = [await slow.next];
  for await (const event of slow.events) if (late.push(event) === 200) break;
  expect(late).toEqual(all);
  expect(late.map((event) => event.seq)).toEqual(Array.from({ length: 200 }, (_, at) => seq + 1 + at));
});

test('[WAKE13] a workspace with many followers delays those of another by one step', () => {
  const turns: (() => void)[] = [];
  const fair = FairTurns.of({ nextTurn: (call) => void turns.push(call) });
  const done: string[] = [];
  fair.add(
    'many',
    Array.from({ length: 100 }, () => () => void done.push('many')),
  );
  fair.add('few', [() => void done.push('few')]);
  turns.shift()!();
  expect(done.slice(0, 2)).toEqual(['many', 'few']);
  expect(done).toHaveLength(16);
  while (turns.length > 0) turns.shift()!();
  expect(done).toHaveLength(101);
});

test('[WAKE3] a tail without followers is released', async () => {
  const { session } = await start();
  const { seq } = await session.summary();
  const unwatched = vi.fn();
  const { events, next } = await follow(session, seq);
  void next.then(unwatched);
  await events.return();
  expect(await next).toBeUndefined();
  expect(unwatched).toHaveBeenCalledOnce();
});
