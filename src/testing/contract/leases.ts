import { describe, expect, test } from 'vitest';
import { type ContractSetup, newKey } from './contract-setup.ts';
import { mustAppend, openSession } from './session-log.ts';
import { calling, enterSession, foundIn, holderNamed, leaseAs } from './work-events.ts';

const workers = Array.from({ length: 20 }, (_, i) => `w${i}`);

export const describeLeases = (setup: ContractSetup) =>
  describe('leases', () => {
    test('[QUEUE3, ST4] of many who ask at once, through two stores, one gets the session', async () => {
      const stores = [setup.store, setup.other];
      for (let round = 0; round < 5; round++) {
        const key = await enterSession(setup.store);
        const answers = await Promise.all(workers.map((worker, i) => leaseAs(stores[i % 2]!, key, worker)));
        expect(answers.filter(Boolean)).toHaveLength(1);
        const holder = holderNamed(workers[answers.indexOf(true)]!);
        expect(await foundIn(setup.other, key.workspace)).toEqual([
          { ...key, seq: 2, lease: { holder, isExpired: false } },
        ]);
      }
    });

    test('[QUEUE3] the holder renews it, for as long as it has it, and nobody else gets it', async () => {
      const { store, other } = setup;
      const key = await enterSession(store);
      expect(await leaseAs(store, key, 'w1', { forMs: 200 })).toBe(true);
      expect(await leaseAs(store, key, 'w1')).toBe(true);
      const until = Date.now() + 300;
      await expect
        .poll(async () => {
          expect(await leaseAs(other, key, 'w2')).toBe(false);
          return Date.now();
        })
        .toBeGreaterThan(until);
    });

    test('[QUEUE3] a lease lapses, shows so, and goes to one of those who ask', async () => {
      const { store, other } = setup;
      const key = await enterSession(store);
      await leaseAs(store, key, 'dead', { forMs: 100 });
      expect(await leaseAs(other, key, 'w1')).toBe(false);
      const lapsed = [{ ...key, seq: 2, lease: { holder: holderNamed('dead'), isExpired: true } }];
      await expect.poll(() => foundIn(other, key.workspace)).toEqual(lapsed);
      const answers = await Promise.all(workers.map((worker) => leaseAs(other, key, worker)));
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect(await leaseAs(store, key, 'dead')).toBe(false);
    });

    test('[QUEUE3] one that has lapsed and that nobody took is still the holder’s to renew and to release', async () => {
      const { store } = setup;
      const key = await enterSession(store);
      await leaseAs(store, key, 'w1', { forMs: 0 });
      expect(await leaseAs(store, key, 'w1', { forMs: 0 })).toBe(true);
      await store.release(key, { worker: 'w1', seq: 2 });
      expect(await foundIn(store, key.workspace)).toEqual([]);
    });

    test('[QUEUE3] whoever names the holder takes it over, once', async () => {
      const { store, other } = setup;
      const key = await enterSession(store);
      await leaseAs(store, key, 'dead');
      expect(await leaseAs(other, key, 'w1', { from: 'somebody' })).toBe(false);
      const answers = await Promise.all(workers.map((worker) => leaseAs(other, key, worker, { from: 'dead' })));
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect(await leaseAs(store, key, 'dead')).toBe(false);
      await store.release(key, { worker: 'dead', seq: 9 });
      expect(await foundIn(store, key.workspace)).toHaveLength(1);
    });

    test('[QUEUE3] a session without work has nothing to lease or release', async () => {
      const { store } = setup;
      const key = newKey();
      expect(await leaseAs(store, key, 'w1')).toBe(false);
      await openSession(store, key);
      expect(await leaseAs(store, key, 'w1')).toBe(false);
      await store.release(key, { worker: 'w1', seq: 1, dueAt: 1 });
      expect(await foundIn(store, key.workspace)).toEqual([]);
    });

    test('[QUEUE4] a release takes out what was done and keeps what came after', async () => {
      const { store } = setup;
      const key = await enterSession(store);
      await leaseAs(store, key, 'w1');
      await mustAppend(store, key, [calling()]);
      await store.release(key, { worker: 'w2', seq: 3 });
      expect(await foundIn(store, key.workspace)).toMatchObject([{ seq: 3, lease: { isExpired: false } }]);
      await store.release(key, { worker: 'w1', seq: 2 });
      expect(await foundIn(store, key.workspace)).toEqual([{ ...key, seq: 3 }]);
      await leaseAs(store, key, 'w2');
      await store.release(key, { worker: 'w2', seq: 1 });
      expect(await foundIn(store, key.workspace)).toEqual([{ ...key, seq: 3 }]);
      await leaseAs(store, key, 'w2');
      await store.release(key, { worker: 'w2', seq: 7 });
      await store.release(key, { worker: 'w2', seq: 7 });
      expect(await foundIn(store, key.workspace)).toEqual([]);
      await mustAppend(store, key, [calling()]);
      expect(await foundIn(store, key.workspace)).toEqual([{ ...key, seq: 4 }]);
    });

    test('[QUEUE4] no news is lost, however appends and releases race through two stores', async () => {
      const { store, other } = setup;
      const key = await enterSession(store);
      for (let round = 0; round < 30; round++) {
        expect(await leaseAs(other, key, 'w1')).toBe(true);
        const seen = (await foundIn(other, key.workspace))[0]!.seq;
        const dueAt = round % 3 ? undefined : Date.now() + 3_600_000;
        const [{ head }] = await Promise.all([
          mustAppend(store, key, [calling()]),
          other.release(key, { worker: 'w1', seq: seen, dueAt }),
        ]);
        expect(await foundIn(store, key.workspace)).toEqual([{ ...key, seq: head.seq }]);
      }
    });
  });
