import { describe, expect, test } from 'vitest';
import type { Queue, WorkerState } from '../../../core/ports/queue.ts';
import type { SessionKey } from '../../../core/ports/store.ts';
import { newId } from '../../../schema/ids.ts';
import { type ContractSetup, newWorkspace } from '../contract-setup.ts';
import { mustAppend } from '../log/session-log.ts';
import {
  calling,
  claimAs,
  claimOf,
  enterSession,
  enterSessions,
  entryOf,
  foundIn,
  holderNamed,
  hourMs,
  isRenewed,
  leaseAs,
  presenceOf,
  sessionsIn,
} from './work-events.ts';

const newWorker = (): string => newId('run');

const stateOf = async (store: Queue, worker: string): Promise<WorkerState | undefined> =>
  (await store.workers()).find(({ holder }) => holder.worker === worker);

const inOrder = (keys: readonly SessionKey[]) => keys.toSorted((a, b) => (a.session < b.session ? -1 : 1));

export const describeWorkers = (setup: ContractSetup) =>
  describe('workers', () => {
    test('[QUEUE12] a worker is listed with its own description and its leases, from its first touch until it leaves', async () => {
      const { store, other } = setup;
      const worker = newWorker();
      const [mine, theirs] = [await enterSession(store), await enterSession(store)];
      const presence = presenceOf(worker, { agents: ['a@1', 'b,"@2'], concurrency: 7, place: 'p' });
      expect(await stateOf(store, worker)).toBeUndefined();
      expect(await store.touch(presence, { held: [], forMs: hourMs })).toEqual([]);
      const first = (await stateOf(other, worker))!;
      const { startedAt, seenAt, ...rest } = first;
      expect(rest).toEqual({ ...presence, isLost: false, holds: [] });
      expect(Math.abs(startedAt - (await store.now()))).toBeLessThan(10_000);
      expect(seenAt).toBe(startedAt);
      for (const key of [mine, theirs]) await leaseAs(store, key, worker);
      const now = presenceOf(worker, { workspace: mine.workspace, isDraining: true });
      await expect.poll(() => store.now()).toBeGreaterThan(startedAt);
      await store.touch(now, { held: [], forMs: hourMs });
      const second = (await stateOf(other, worker))!;
      expect({ ...second, holds: inOrder(second.holds) }).toEqual({
        ...now,
        startedAt,
        seenAt: expect.any(Number),
        isLost: false,
        holds: inOrder([mine, theirs]),
      });
      expect(second.seenAt).toBeGreaterThan(startedAt);
      for (let i = 0; i < 2; i++) await store.leave(worker);
      expect(await stateOf(other, worker)).toBeUndefined();
    });

    test('[QUEUE12] a worker that stays silent longer than it announced is listed as lost until its next touch', async () => {
      const { store, other } = setup;
      const worker = newWorker();
      await store.touch(presenceOf(worker), { held: [], forMs: 50 });
      await expect.poll(() => stateOf(other, worker)).toMatchObject({ isLost: true });
      await store.touch(presenceOf(worker), { held: [], forMs: hourMs });
      expect(await stateOf(other, worker)).toMatchObject({ isLost: false });
      await store.leave(worker);
    });

    test('[QUEUE12] a worker that has been lost for an hour is forgotten', async () => {
      const { store, other } = setup;
      const [lately, long, heard] = [newWorker(), newWorker(), newWorker()];
      await store.touch(presenceOf(lately), { held: [], forMs: -0.9 * hourMs });
      await store.touch(presenceOf(long), { held: [], forMs: -1.1 * hourMs });
      await other.touch(presenceOf(heard), { held: [], forMs: hourMs });
      expect(await stateOf(store, long)).toBeUndefined();
      expect(await stateOf(store, lately)).toMatchObject({ isLost: true });
      for (const worker of [lately, heard]) await store.leave(worker);
    });

    test('[QUEUE19] a touch renews the named leases in all workspaces, and returns those that the worker still holds', async () => {
      const { store, other } = setup;
      const [worker, thief] = [newWorker(), newWorker()];
      const keys = [await enterSession(store), await enterSession(store), await enterSession(store)];
      const [kept, stolen, unnamed] = keys as [SessionKey, SessionKey, SessionKey];
      for (const key of keys) expect(await leaseAs(store, key, worker, { forMs: 100 })).toBe(true);
      await expect.poll(() => leaseAs(other, stolen, thief)).toBe(true);
      const held = [kept, stolen, { ...kept, workspace: newWorkspace() }];
      for (let i = 0; i < 2; i++) {
        expect(await store.touch(presenceOf(worker), { held, forMs: hourMs })).toEqual([kept]);
      }
      expect(await leaseAs(other, kept, thief)).toBe(false);
      expect(await foundIn(store, kept.workspace)).toMatchObject([{ lease: { isExpired: false } }]);
      await expect.poll(() => foundIn(store, unnamed.workspace)).toMatchObject([{ lease: { isExpired: true } }]);
      expect(await foundIn(store, stolen.workspace)).toMatchObject([{ lease: { holder: holderNamed(thief) } }]);
      for (const each of [worker, thief]) await store.leave(each);
    });

    test('[QUEUE19] a worker that leaves releases all its leases immediately, in every workspace, and no leases of other workers', async () => {
      const { store, other } = setup;
      const [worker, stays] = [newWorker(), newWorker()];
      const [first, second, theirs] = [await enterSession(store), await enterSession(store), await enterSession(store)];
      for (const key of [first, second]) await leaseAs(store, key, worker);
      await leaseAs(store, theirs, stays);
      await mustAppend(store, second, [calling()]);
      await other.leave(worker);
      await leaseAs(store, first, stays);
      await other.leave(worker);
      expect(await foundIn(store, first.workspace)).toMatchObject([{ lease: { holder: holderNamed(stays) } }]);
      expect(await foundIn(store, second.workspace)).toEqual([entryOf(second, 3)]);
      expect(await isRenewed(store, theirs, stays)).toBe(true);
      expect(await isRenewed(store, second, worker)).toBe(false);
      expect(await stateOf(store, worker)).toMatchObject({ holds: [] });
      for (const each of [worker, stays]) await store.leave(each);
    });

    test('[QUEUE19] a claim releases all leases of dead workers, forgets these workers, and claims the requested work', async () => {
      const { store, other } = setup;
      const [dead, alive] = [newWorker(), newWorker()];
      const workspace = newWorkspace();
      const keys = await enterSessions(store, workspace, 3);
      for (const key of keys) await leaseAs(store, key, dead);
      expect(await claimAs(other, alive, { workspace })).toEqual([]);
      const taken = await claimAs(other, alive, { workspace, count: 2, gone: [dead] });
      expect(taken).toHaveLength(2);
      expect(await stateOf(store, dead)).toBeUndefined();
      expect((await sessionsIn(store, workspace)).slice(1).toSorted()).toEqual(taken.toSorted());
      expect((await foundIn(store, workspace))[0]).not.toHaveProperty('lease');
      for (const key of keys) expect(await isRenewed(store, key, dead)).toBe(false);
      for (const each of [dead, alive]) await store.leave(each);
    });

    test('[QUEUE12] a claim returns the other workers on the same machine that hold leases', async () => {
      const { store, other } = setup;
      const [mine, near, far, idle] = Array.from({ length: 4 }, () => holderNamed(newWorker()));
      const [here, there] = [newWorker(), newWorker()];
      const workspace = newWorkspace();
      await enterSessions(store, workspace, 4);
      const claim = async (machine: string, { worker } = mine!, count = 1) =>
        (await other.claim(claimOf(worker, { workspace, count, holder: { ...mine!, worker, machine } }))).neighbours;
      await claim(there, far);
      await claim(here, near, 2);
      await claim(here, idle, 0);
      expect(await claim(here)).toEqual([{ ...near, machine: here }]);
      expect(await claim(here)).toEqual([{ ...near, machine: here }]);
      expect(await claim(here, near)).toEqual([{ ...mine, machine: here }]);
      for (const { worker } of [near!, mine!]) await store.leave(worker);
      expect(await claim(there, idle)).toEqual([{ ...far, machine: there }]);
      for (const { worker } of [far!, idle!]) await store.leave(worker);
    });
  });
