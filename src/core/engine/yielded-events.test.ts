import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { SessionKey, Store, StoredEvent } from '../ports/store.ts';
import { YieldedEvents } from './yielded-events.ts';

const eventAt = (seq: number, log = 'first') =>
  ({ seq, hash: createHash('sha256').update(`${log} ${seq}`).digest() }) as unknown as StoredEvent;

/** A store whose log is that of the follower up to `common`, and another one from there on. */
const storeWith = (common: number, head: number): Store =>
  ({
    head: async () => ({ seq: head }),
    read: async (_: SessionKey, { after = 0, upTo = head, limit }: { after?: number; upTo?: number; limit: number }) =>
      Array.from({ length: Math.max(0, Math.min(upTo, head) - after) }, (_, at) => Math.min(upTo, head) - at)
        .slice(0, limit)
        .map((seq) => eventAt(seq, seq <= common ? 'first' : 'second')),
  }) as unknown as Store;

const follow = (from: number, upTo: number): YieldedEvents => {
  const yielded = new YieldedEvents();
  for (let seq = from; seq <= upTo; seq++) yielded.add(eventAt(seq));
  return yielded;
};

test.each([
  [1, 5, 3, 3],
  [1, 5, 5, 5],
  [1, 40, 17, 17],
  [1, 3000, 2999, 2999],
  [1, 3000, 2001, 2001],
  [700, 1900, 1200, 1200],
  [1, 3000, 100, 2000], // older than what is kept: the reader gets events again
  [5, 9, 2, 4],
])(
  '[BACK2] a follower of events %i to %i whose store kept those up to %i continues after %i',
  async (from, upTo, common, expected) => {
    const yielded = follow(from, upTo);
    expect(await yielded.commonPoint(storeWith(common, upTo + 10), {} as SessionKey)).toBe(expected);
    // It goes on from there, and can lose events again.
    for (let seq = expected + 1; seq <= expected + 50; seq++) yielded.add(eventAt(seq));
    expect(await yielded.commonPoint(storeWith(expected + 20, expected + 60), {} as SessionKey)).toBe(expected + 20);
  },
);

test('[BACK2] what a follower remembers of yielded events takes 8 kB at most, and little at first', () => {
  expect(follow(1, 10).bytes).toBeLessThanOrEqual(128);
  expect(follow(1, 100_000).bytes).toBe(8000);
});
