import { describe, expect, test } from 'vitest';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { mustAppend, openSession } from '../log/session-log.ts';
import {
  calling,
  claimAs,
  enterSession,
  enterSessions,
  entryOf,
  foundIn,
  holderNamed,
  hourMs,
  isRenewed,
  leaseAs,
  sessionsIn,
} from './work-events.ts';

const workers = Array.from({ length: 20 }, (_, i) => `w${i}`);

export const describeLeases = (setup: ContractSetup) =>
  describe('leases', () => {
    test('[QUEUE3, ST4] only one of many concurrent claims through two stores gets the session', async () => {
      const stores = [setup.store, setup.other];
      for (let round = 0; round < 5; round++) {
        const key = await enterSession(setup.store);
        const answers = await Promise.all(workers.map((worker, i) => leaseAs(stores[i % 2]!, key, worker)));
        expect(answers.filter(Boolean)).toHaveLength(1);
        const holder = holderNamed(workers[answers.indexOf(true)]!);
        expect(await foundIn(setup.other, key.workspace)).toEqual([
          { ...entryOf(key, 2), lease: { holder, isExpired: false } },
        ]);
      }
    });

    test('[QUEUE3, QUEUE14] a worker can renew its lease as long as it holds it, and no other worker gets the session', async () => {
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

    test('[QUEUE3, QUEUE14] a lapsed lease is shown as expired, and exactly one of the workers that claim the session gets it', async () => {
      const { store, other } = setup;
      const key = await enterSession(store);
      await leaseAs(store, key, 'dead', { forMs: 100 });
      expect(await leaseAs(other, key, 'w1')).toBe(false);
      const lapsed = [{ ...entryOf(key, 2), lease: { holder: holderNamed('dead'), isExpired: true } }];
      await expect.poll(() => foundIn(other, key.workspace)).toEqual(lapsed);
      const answers = await Promise.all(workers.map((worker) => leaseAs(other, key, worker)));
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect(await leaseAs(store, key, 'dead')).toBe(false);
    });

    test('[QUEUE14, QUEUE15] if no other worker claims a session after its lease lapsed, the holder can still renew the lease or finish the work', async () => {
      const { store } = setup;
      const key = await enterSession(store);
      await leaseAs(store, key, 'w1', { forMs: 0 });
      await claimAs(store, 'another', { workspace: newWorkspace() });
      expect(await claimAs(store, 'w1', { workspace: key.workspace })).toEqual([]);
      expect(await claimAs(store, 'w1', { workspace: key.workspace, sessions: [key.session] })).toEqual([]);
      expect(await isRenewed(store, key, 'w1', 0)).toBe(true);
      await store.finish(key, { worker: 'w1', seq: 2 });
      expect(await foundIn(store, key.workspace)).toEqual([]);
    });

    test('[QUEUE15, QUEUE21] a claim returns again the sessions that the worker holds but does not name, because an earlier answer was lost', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const [known, lost] = await enterSessions(store, workspace, 2);
      expect(await claimAs(store, 'w1', { workspace })).toHaveLength(2);
      expect(await claimAs(store, 'w1', { workspace, held: [known!, lost!] })).toEqual([]);
      expect(await claimAs(store, 'w2', { workspace, held: [] })).toEqual([]);
      expect(await claimAs(store, 'w1', { workspace, held: [known!] })).toEqual([lost!.session]);
    });

    test('[QUEUE3] a session of a dead worker is claimed by exactly one of the workers whose claims name the dead worker as gone', async () => {
      const { store, other } = setup;
      const key = await enterSession(store);
      await leaseAs(store, key, 'dead');
      expect(await leaseAs(other, key, 'w1', { gone: 'another' })).toBe(false);
      const answers = await Promise.all(workers.map((worker) => leaseAs(other, key, worker, { gone: 'dead' })));
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect(await leaseAs(store, key, 'dead')).toBe(false);
      await store.finish(key, { worker: 'dead', seq: 9 });
      await store.release(key, { worker: 'dead' });
      expect(await foundIn(store, key.workspace)).toMatchObject([{ lease: { isExpired: false } }]);
    });

    test('[QUEUE3, ST4] twenty concurrent claims through two stores claim each session once and leave none', async () => {
      const workspace = newWorkspace();
      const keys = await enterSessions(setup.store, workspace, 50);
      const stores = [setup.store, setup.other];
      const taken = await Promise.all(
        workers.map((worker, i) => claimAs(stores[i % 2]!, worker, { workspace, count: 3 })),
      );
      expect(taken.flat().toSorted()).toEqual(keys.map(({ session }) => session).toSorted());
    });

    test('[QUEUE3, QUEUE20] a session without work cannot be claimed, finished or released', async () => {
      const { store } = setup;
      const key = newKey();
      expect(await leaseAs(store, key, 'w1')).toBe(false);
      await openSession(store, key);
      expect(await leaseAs(store, key, 'w1')).toBe(false);
      await store.finish(key, { worker: 'w1', seq: 1, inMs: 1 });
      await store.release(key, { worker: 'w1' });
      expect(await foundIn(store, key.workspace)).toEqual([]);
    });

    test('[QUEUE4, QUEUE22] a finish removes the work that was done and keeps newer work', async () => {
      const { store } = setup;
      const key = await enterSession(store);
      await leaseAs(store, key, 'w1');
      await mustAppend(store, key, [calling()]);
      await store.finish(key, { worker: 'w2', seq: 3 });
      expect(await foundIn(store, key.workspace)).toMatchObject([{ seq: 3, lease: { isExpired: false } }]);
      await store.finish(key, { worker: 'w1', seq: 2 });
      expect(await foundIn(store, key.workspace)).toEqual([entryOf(key, 3)]);
      await leaseAs(store, key, 'w2');
      await store.finish(key, { worker: 'w2', seq: 1 });
      expect(await foundIn(store, key.workspace)).toEqual([entryOf(key, 3)]);
      await leaseAs(store, key, 'w2');
      await store.finish(key, { worker: 'w2', seq: 7 });
      await store.finish(key, { worker: 'w2', seq: 7 });
      expect(await foundIn(store, key.workspace)).toEqual([]);
      await mustAppend(store, key, [calling()]);
      expect(await foundIn(store, key.workspace)).toEqual([entryOf(key, 4)]);
    });

    test('[QUEUE4, QUEUE22] no work is lost, however appends and finishes race through two stores', async () => {
      const { store, other } = setup;
      const key = await enterSession(store);
      for (let round = 0; round < 30; round++) {
        expect(await leaseAs(other, key, 'w1')).toBe(true);
        const seen = (await foundIn(other, key.workspace))[0]!.seq;
        const inMs = round % 3 ? undefined : hourMs;
        const [{ head }] = await Promise.all([
          mustAppend(store, key, [calling()]),
          other.finish(key, { worker: 'w1', seq: seen, inMs }),
        ]);
        expect(await foundIn(store, key.workspace)).toEqual([entryOf(key, head.seq)]);
      }
    });

    test('[QUEUE4] a release returns unfinished work to the queue, now or later, behind waiting work; a new event makes it due immediately', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      const [first, second] = await enterSessions(store, workspace, 2);
      await leaseAs(store, first!, 'w1');
      await store.release(first!, { worker: 'w2' });
      expect(await foundIn(other, workspace)).toMatchObject([second!, { ...first!, lease: { isExpired: false } }]);
      for (let i = 0; i < 2; i++) await store.release(first!, { worker: 'w1' });
      expect(await foundIn(other, workspace)).toEqual([entryOf(second!, 2), entryOf(first!, 2)]);
      await leaseAs(store, first!, 'w1');
      await store.release(first!, { worker: 'w1', inMs: hourMs });
      expect(await sessionsIn(other, workspace)).toEqual([second!.session]);
      expect(await leaseAs(other, first!, 'w2')).toBe(false);
      await mustAppend(store, first!, [calling()]);
      expect(await sessionsIn(other, workspace)).toEqual([second!.session, first!.session]);
      await leaseAs(store, second!, 'w1');
      await store.release(second!, { worker: 'w1', inMs: 50 });
      await expect.poll(() => sessionsIn(other, workspace)).toEqual([first!.session, second!.session]);
    });
  });
