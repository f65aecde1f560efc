import { describe, expect, test } from 'vitest';
import type { SessionKey, Store } from '../../../core/ports/store.ts';
import { copiesOf, sendCopies } from '../bundles/session-copies.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { rawText } from '../log/new-events.ts';
import { mustAppend, mustHead, openSession, seqs } from '../log/session-log.ts';
import { newWakeSignal } from './wake-signal.ts';

/** Reads from its own cursor at each wake-up, until it has seen `upTo`. */
const follow = async (store: Store, key: SessionKey, upTo: number): Promise<readonly number[]> => {
  const signal = newWakeSignal();
  const stop = store.watch(key, signal.wake);
  const seen: number[] = [];
  try {
    while ((seen.at(-1) ?? 0) < upTo) {
      const page = await store.read(key, { after: seen.at(-1) ?? 0, limit: 7 });
      if (page.length === 0) await signal.next();
      seen.push(...seqs(page));
    }
    return seen;
  } finally {
    stop();
  }
};

export const describeWakeUps = (setup: ContractSetup) =>
  describe('wake-ups', () => {
    const places = {
      'the same store': async () => setup.store,
      'another store on the same database': () => setup.open(),
    };
    for (const [place, openFollower] of Object.entries(places)) {
      test(`[WAKE1] a follower in ${place} wakes after the commit`, async () => {
        const key = newKey();
        await openSession(setup.store, key);
        const follower = await openFollower();
        const signal = newWakeSignal();
        const stop = follower.watch(key, signal.wake);
        for (let seq = 2; seq <= 6; seq++) {
          await mustAppend(setup.store, key, [rawText('x')]);
          while ((await mustHead(follower, key)).seq < seq) await signal.next();
          await signal.next();
        }
        stop();
      });

      test(`[WAKE1] a follower in ${place} can wait for a session that does not exist yet`, async () => {
        const key = newKey();
        const follower = await openFollower();
        const signal = newWakeSignal();
        const stop = follower.watch(key, signal.wake);
        await openSession(setup.store, key);
        do await signal.next();
        while (!(await follower.head(key)));
        stop();
      });

      test(`[WAKE1] a follower in ${place} wakes after an import`, async () => {
        const key = newKey();
        await openSession(setup.store, key);
        const copies = await copiesOf(setup.store, [key]);
        const moved = { ...key, workspace: newWorkspace() };
        const follower = await openFollower();
        const signal = newWakeSignal();
        const stop = follower.watch(moved, signal.wake);
        await setup.store.importCopies(moved.workspace, sendCopies(copies));
        do await signal.next();
        while (!(await follower.head(moved)));
        stop();
      });

      test(`[WAKE2] a follower in ${place} sees every event once and in order while two stores append`, async () => {
        const key = newKey();
        const writers = [setup.store, setup.other];
        await openSession(setup.store, key);
        const following = follow(await openFollower(), key, 121);
        await Promise.all(
          writers.map(async (store) => {
            for (let i = 0; i < 30; i++) await mustAppend(store, key, [rawText('a'), rawText('b')]);
          }),
        );
        expect(await following).toEqual(Array.from({ length: 121 }, (_, i) => i + 1));
      });
    }

    test('[WAKE1] a follower that stopped watching is not woken, and the others are', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      const [stopped, stays, again] = [newWakeSignal(), newWakeSignal(), newWakeSignal()];
      const stop = store.watch(key, stopped.wake);
      const end = [store.watch(key, stays.wake), store.watch(key, again.wake)];
      await mustAppend(store, key, [rawText('a')]);
      await Promise.all([stopped.next(), stays.next(), again.next()]);
      stop();
      stop();
      const before = stopped.count;
      await mustAppend(store, key, [rawText('b')]);
      await Promise.all([stays.next(), again.next()]);
      expect(stopped.count).toBe(before);
      for (const each of end) each();
    });

    test('[WAKE1, ST3] a closed store wakes no follower', async () => {
      const key = newKey();
      await openSession(setup.store, key);
      const closing = await setup.open();
      const [closed, stays] = [newWakeSignal(), newWakeSignal()];
      const stop = closing.watch(key, closed.wake);
      const end = setup.store.watch(key, stays.wake);
      await closing.close();
      const before = closed.count;
      await mustAppend(setup.store, key, [rawText('a')]);
      await stays.next();
      expect(closed.count).toBe(before);
      stop();
      end();
    });
  });
