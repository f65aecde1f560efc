import { describe, expect, test } from 'vitest';
import type { Queue, Work } from '../../../core/ports/queue.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { event, opened, rawText } from '../log/new-events.ts';
import { mustAppend, openSession } from '../log/session-log.ts';
import { newWakeSignal } from '../waking/wake-signal.ts';
import { calling, claimOf, enterSession, enterSessions, foundIn, hourMs, leaseAs } from './work-events.ts';

const watching = (store: Queue, workspace: WorkspaceId, watched: 'it' | 'any' = 'it') => {
  const signal = newWakeSignal();
  const stop = store.watchWork(watched === 'it' ? workspace : undefined, signal.wake);
  const wait = async (isThere: (work: readonly Work[]) => boolean) => {
    while (!isThere(await foundIn(store, workspace))) await signal.next();
  };
  return { signal, stop, wait };
};

export const describeWorkWakeUps = (setup: ContractSetup) =>
  describe('wake-ups for work', () => {
    const places = {
      'the same store': async () => setup.store,
      'another store on the same database': () => setup.open(),
    };
    for (const [place, openWorker] of Object.entries(places)) {
      test(`[QUEUE5] a worker in ${place} wakes at each append that calls for work, whichever worker holds the session`, async () => {
        const key = newKey();
        await openSession(setup.store, key);
        const { signal, stop, wait } = watching(await openWorker(), key.workspace);
        for (let seq = 2; seq <= 6; seq++) {
          await mustAppend(setup.store, key, [calling()]);
          await wait(([work]) => work?.seq === seq);
          await signal.next();
          if (seq === 4) await leaseAs(setup.store, key, 'w1');
        }
        stop();
      });

      test(`[QUEUE5] a worker in ${place} wakes when work is released, with new events or already due`, async () => {
        const key = await enterSession(setup.store);
        await leaseAs(setup.store, key, 'w1');
        const { stop, wait } = watching(await openWorker(), key.workspace);
        await wait(([work]) => work?.lease !== undefined);
        const { store } = setup;
        const waysBack = [
          () => store.finish(key, { worker: 'w1', seq: 1 }),
          () => store.finish(key, { worker: 'w1', seq: 2, inMs: 0 }),
          () => store.release(key, { worker: 'w1' }),
          () => store.leave('w1'),
          () => store.claim(claimOf('w2', { workspace: newWorkspace(), gone: ['w1'] })),
        ];
        for (const giveBack of waysBack) {
          expect(await leaseAs(store, key, 'w1')).toBe(true);
          await giveBack();
          await wait(([work]) => work?.lease === undefined);
        }
        stop();
      });
    }

    test('[QUEUE5, TEN1] appends that call for no work, finished work and other workspaces wake no worker', async () => {
      const { store, other } = setup;
      const gone = await setup.open();
      const [mine, theirs] = [await enterSession(gone), await enterSession(gone)];
      await gone.close(); // closing flushes its notifications
      for (const follower of [store, other]) {
        const [quiet, woken] = [watching(follower, mine.workspace), watching(follower, theirs.workspace)];
        for (let i = 0; i < 5; i++) {
          await mustAppend(store, mine, [rawText('x')]);
          await leaseAs(store, mine, 'w1');
          await store.finish(mine, { worker: 'w1', seq: 9, inMs: hourMs });
          await mustAppend(store, theirs, [calling()]);
          await woken.signal.next();
        }
        // One wake-up may occur without new work, when the worker begins to listen.
        expect(quiet.signal.count).toBeLessThanOrEqual(1);
        for (const { stop } of [quiet, woken]) stop();
      }
    });

    test('[QUEUE5] a worker for all workspaces wakes for work in any of them', async () => {
      const { store } = setup;
      for (const follower of [store, await setup.open()]) {
        for (let i = 0; i < 3; i++) {
          const key = newKey();
          const { stop, wait } = watching(follower, key.workspace, 'any');
          await mustAppend(store, key, [opened(), calling()], { creates: {} });
          await wait(([work]) => work !== undefined);
          stop();
        }
      }
    });

    test('[QUEUE5] a worker wakes when a waiting session is bound to another agent', async () => {
      const key = await enterSession(setup.store);
      const { stop, wait } = watching(await setup.open(), key.workspace);
      await wait(([work]) => work?.agent === '');
      const agent = { name: 'a', version: 2 };
      await mustAppend(setup.store, key, [event('agent.bound', { agent, schemaHash: 'f'.repeat(64) })]);
      await wait(([work]) => work?.agent === 'a@2');
      stop();
    });

    test('[QUEUE5] a worker that stopped watching, or whose store was closed, is not woken', async () => {
      const { store } = setup;
      const closing = await setup.open();
      const key = await enterSession(store);
      const [stopped, closed, stays] = [store, closing, store].map((each) => watching(each, key.workspace));
      stopped!.stop();
      stopped!.stop();
      await closing.close();
      const before = [stopped!.signal.count, closed!.signal.count];
      await mustAppend(store, key, [calling()]);
      await stays!.signal.next();
      expect([stopped!.signal.count, closed!.signal.count]).toEqual(before);
      stays!.stop();
    });

    test('[QUEUE5, ST4] two workers on one database finish all work, woken by each other and by a third store that appends', async () => {
      const workspace = newWorkspace();
      const count = 30;
      const done = new Set<string>();
      const crew = [setup.store, setup.other].map((store, i) => ({
        store,
        worker: `w${i}`,
        ...watching(store, workspace),
      }));
      const workers = crew.map(async ({ store, worker, signal, stop }) => {
        while (done.size < count) {
          const { taken } = await store.claim(claimOf(worker, { workspace, count: 2 }));
          for (const work of taken) {
            done.add(work.session);
            await store.finish(work, { worker, seq: work.seq });
          }
          if (taken.length === 0 && done.size < count) await signal.next();
        }
        for (const other of crew) other.signal.wake();
        stop();
      });
      const third = await setup.open();
      await enterSessions(third, workspace, count / 2);
      await Promise.all(
        Array.from({ length: count / 2 }, () =>
          mustAppend(third, newKey(workspace), [opened(), calling()], { creates: {} }),
        ),
      );
      await Promise.all(workers);
      expect(done.size).toBe(count);
      expect(await foundIn(third, workspace)).toEqual([]);
    });
  });
