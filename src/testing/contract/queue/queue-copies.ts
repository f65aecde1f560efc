import { describe, expect, test } from 'vitest';
import { copiesOf, inPieces, sendCopies } from '../bundles/session-copies.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { rawText } from '../log/new-events.ts';
import { forkSession, mustAppend, openSession } from '../log/session-log.ts';
import { calling, enterSession, entryOf, foundIn, hourMs, leaseAs, sessionsIn } from './work-events.ts';

export const describeQueueCopies = (setup: ContractSetup) =>
  describe('work after imports and rebuilds', () => {
    test('[QUEUE16] imported events call for no work, even after a rebuild; events that are appended later do', async () => {
      const { store } = setup;
      const root = await enterSession(store);
      const child = newKey(root.workspace);
      await mustAppend(store, root, [calling(), rawText('a'), rawText('b')]);
      await forkSession(store, root, 4, child);
      const copies = await copiesOf(store, [root, child]);
      for (const size of [1, 2, 100]) {
        const workspace = newWorkspace();
        const moved = { ...root, workspace };
        await store.importCopies(workspace, sendCopies(copies.flatMap((copy) => inPieces(copy, size))));
        expect(await foundIn(store, workspace)).toEqual([]);
        await store.rebuildProjections(workspace);
        expect(await foundIn(store, workspace)).toEqual([]);
        await mustAppend(store, moved, [calling()]);
        expect(await foundIn(store, workspace)).toEqual([entryOf(moved, 6)]);
        await store.rebuildProjections(workspace);
        expect(await foundIn(store, workspace)).toEqual([entryOf(moved, 6)]);
      }
    });

    test('[QUEUE6] an import into a session that a worker holds leaves the lease with that worker', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      const moved = { ...key, workspace: newWorkspace() };
      await store.importCopies(moved.workspace, sendCopies(await copiesOf(store, [key])));
      await mustAppend(store, moved, [calling()]);
      await leaseAs(store, moved, 'w1');
      await store.importCopies(key.workspace, sendCopies(await copiesOf(store, [moved])));
      await mustAppend(store, key, [calling()]);
      await store.importCopies(moved.workspace, sendCopies(await copiesOf(store, [key])));
      expect(await foundIn(store, moved.workspace)).toMatchObject([{ seq: 2, lease: { isExpired: false } }]);
    });

    test('[QUEUE6, QUEUE23] a rebuild enters every session that ever called for work into the queue, and leaves existing entries unchanged', async () => {
      const { store } = setup;
      const done = await enterSession(store);
      const { workspace } = done;
      const [later, held, quiet] = [newKey(workspace), newKey(workspace), newKey(workspace)];
      for (const key of [later, held, quiet]) await openSession(store, key);
      for (const key of [later, held]) await mustAppend(store, key, [calling(), calling(), rawText('x')]);
      for (const key of [done, later, held]) await leaseAs(store, key, 'w1');
      await store.finish(done, { worker: 'w1', seq: 2 });
      await store.finish(later, { worker: 'w1', seq: 4, inMs: hourMs });
      await store.rebuildProjections(workspace);
      expect(await foundIn(store, workspace)).toMatchObject([
        { ...done, seq: 2 },
        { ...held, seq: 3, lease: { isExpired: false } },
      ]);
      await leaseAs(store, done, 'w2');
      await store.finish(done, { worker: 'w2', seq: 2 });
      expect(await sessionsIn(store, workspace)).toEqual([held.session]);
    });

    test('[QUEUE6, QUEUE11] a rebuild does not enter a session whose work is known to be done, because the queue remembers its place', async () => {
      const { store } = setup;
      const key = await enterSession(store);
      await leaseAs(store, key, 'w1');
      for (let i = 0; i < 2; i++) await store.finish(key, { worker: 'w1', seq: 2, place: 'here' });
      await store.rebuildProjections(key.workspace);
      expect(await foundIn(store, key.workspace)).toEqual([]);
      expect(await leaseAs(store, key, 'w1')).toBe(false);
      await mustAppend(store, key, [calling()]);
      expect(await foundIn(store, key.workspace)).toEqual([entryOf(key, 3)]);
    });
  });
