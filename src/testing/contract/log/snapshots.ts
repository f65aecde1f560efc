import { describe, expect, test } from 'vitest';
import type { SessionKey, Store } from '../../../core/ports/store.ts';
import { type ContractSetup, newKey } from '../contract-setup.ts';
import { noise, rawText } from './new-events.ts';
import { forkSession, mustAppend, openSession } from './session-log.ts';

const put = (store: Store, key: SessionKey, seq: number, parts: Record<string, Uint8Array>, foldVersion = 1) =>
  store.putSnapshot(key, { seq, foldVersion, parts });

/** The seq of the snapshot found. */
const found = async (store: Store, key: SessionKey, seq: number, foldVersion = 1): Promise<number | undefined> =>
  (await store.snapshot(key, { seq, foldVersion }))?.seq;

const grown = async (store: Store, key: SessionKey, count: number): Promise<void> => {
  const [first, ...rest] = Array.from({ length: count }, (_, i) => rawText(`${i}`));
  await mustAppend(store, key, [first!, ...rest]);
};

export const describeSnapshots = (setup: ContractSetup) =>
  describe('fold snapshots', () => {
    test('[FOLD4] the newest snapshot of the fold version at or before a seq is found, and others are ignored', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      await grown(store, key, 19);
      for (const seq of [5, 10, 15]) await put(store, key, seq, { at: noise(10, seq) });
      await put(store, key, 12, { at: noise(10, 99) }, 2);
      const newest = await Promise.all([4, 5, 9, 10, 14, 15, 20].map((seq) => found(store, key, seq)));
      expect(newest).toEqual([undefined, 5, 5, 10, 10, 15, 15]);
      expect(await found(store, key, 20, 2)).toBe(12);
      expect(await found(store, key, 20, 3)).toBeUndefined();
      const snapshot = await store.snapshot(key, { seq: 14, foldVersion: 1 });
      expect(snapshot).toEqual({ seq: 10, foldVersion: 1, parts: { at: noise(10, 10) } });
    });

    test('[FOLD2] parts are read back exactly, even after a restart, and writing a snapshot twice changes nothing', async () => {
      const key = newKey();
      await openSession(setup.store, key);
      const parts = {
        empty: new Uint8Array(0),
        small: noise(3, 1),
        "a name ' with / and ☃": noise(500, 2),
        large: noise(100_000, 3),
        zeros: new Uint8Array(100_000),
      };
      await put(setup.store, key, 1, parts);
      const other = await setup.open();
      await Promise.all([put(setup.store, key, 1, parts), put(other, key, 1, parts)]);
      await other.close();
      const reopened = await setup.open();
      expect(await reopened.snapshot(key, { seq: 1, foldVersion: 1 })).toEqual({ seq: 1, foldVersion: 1, parts });
    });

    test('[FOLD3] an unchanged part is stored once for all snapshots of a workspace', async () => {
      const { store, tamper } = setup;
      const [key, foreign] = [newKey(), newKey()];
      const sibling = newKey(key.workspace);
      for (const each of [key, sibling, foreign]) await openSession(store, each);
      await grown(store, key, 9);
      const [a, b] = [noise(5_000, 1), noise(5_000, 2)];
      await put(store, key, 2, { a, b });
      expect(await tamper.countPieces(key.workspace)).toBe(2);
      await put(store, key, 4, { a, b: noise(5_000, 3) });
      await put(store, key, 6, { a, renamed: b });
      await put(store, sibling, 1, { a });
      expect(await tamper.countPieces(key.workspace)).toBe(3);
      await put(store, foreign, 1, { a });
      expect(await tamper.countPieces(foreign.workspace)).toBe(1);
      expect(await store.snapshot(key, { seq: 6, foldVersion: 1 })).toEqual({
        seq: 6,
        foldVersion: 1,
        parts: { a, renamed: b },
      });
    });

    test('[FORK1] a fork finds the snapshots of its ancestors at or before its fork points', async () => {
      const { store } = setup;
      const root = newKey();
      await openSession(store, root);
      await grown(store, root, 19);
      for (const seq of [4, 10, 12]) await put(store, root, seq, { root: noise(10, seq) });
      const child = newKey(root.workspace);
      await forkSession(store, root, 10, child);
      await grown(store, child, 9);
      expect(await found(store, child, 20)).toBe(10);
      expect(await found(store, child, 9)).toBe(4);
      await put(store, child, 15, { child: noise(10, 15) });
      const grandchild = newKey(root.workspace);
      await forkSession(store, child, 13, grandchild);
      const early = newKey(root.workspace);
      await forkSession(store, child, 7, early);
      expect(await found(store, child, 20)).toBe(15);
      expect(await found(store, child, 14)).toBe(10);
      expect(await found(store, grandchild, 14)).toBe(10);
      expect(await found(store, early, 8)).toBe(4);
      expect(await found(store, early, 3)).toBeUndefined();
      expect(await found(store, root, 20)).toBe(12);
      await put(store, child, 6, { inherited: noise(10, 6) });
      expect(await found(store, child, 9)).toBe(6);
      expect(await found(store, grandchild, 9)).toBe(6);
    });
  });
