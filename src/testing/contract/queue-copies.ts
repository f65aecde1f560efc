import { describe, expect, test } from 'vitest';
import { type ContractSetup, newKey, newWorkspace } from './contract-setup.ts';
import { rawText } from './new-events.ts';
import { copiesOf, inPieces, sendCopies } from './session-copies.ts';
import { forkSession, mustAppend, openSession } from './session-log.ts';
import { calling, enterSession, foundIn, leaseAs, minuteMs, sessionsIn } from './work-events.ts';

export const describeQueueCopies = (setup: ContractSetup) =>
  describe('work of imports and repairs', () => {
    test('[QUEUE6] an import enters the sessions whose own events call for work, in pieces too', async () => {
      const { store } = setup;
      const root = await enterSession(store);
      const [child, quiet] = [newKey(root.workspace), newKey(root.workspace)];
      await mustAppend(store, root, [calling(), rawText('a'), rawText('b')]);
      await forkSession(store, root, 4, child);
      await openSession(store, quiet);
      const copies = await copiesOf(store, [root, child, quiet]);
      for (const size of [1, 2, 100]) {
        const workspace = newWorkspace();
        const moved = { ...root, workspace };
        await store.importCopies(workspace, sendCopies(copies.flatMap((copy) => inPieces(copy, size))));
        expect(await foundIn(store, workspace)).toEqual([{ ...moved, seq: 3 }]);
        await leaseAs(store, moved, 'w1');
        await store.release(moved, { worker: 'w1', seq: 5 });
        await store.importCopies(workspace, sendCopies(copies));
        expect(await foundIn(store, workspace)).toEqual([]);
      }
    });

    test('[QUEUE6] an import that adds to a session that somebody has leaves it with them', async () => {
      const { store } = setup;
      const key = await enterSession(store);
      const moved = { ...key, workspace: newWorkspace() };
      await store.importCopies(moved.workspace, sendCopies(await copiesOf(store, [key])));
      await leaseAs(store, moved, 'w1');
      await mustAppend(store, key, [calling()]);
      await store.importCopies(moved.workspace, sendCopies(await copiesOf(store, [key])));
      expect(await foundIn(store, moved.workspace)).toMatchObject([{ seq: 3, lease: { isExpired: false } }]);
    });

    test('[QUEUE6, BUN2] an import that is refused enters nothing', async () => {
      const { store } = setup;
      const key = await enterSession(store);
      const workspace = newWorkspace();
      const [copy] = await copiesOf(store, [key]);
      const broken = { ...copy!, session: newKey().session };
      await expect(store.importCopies(workspace, sendCopies([copy!, broken]))).rejects.toThrow();
      expect(await foundIn(store, workspace)).toEqual([]);
    });

    test('[QUEUE6] a rebuild enters what was ever called for, and leaves alone what is known', async () => {
      const { store } = setup;
      const done = await enterSession(store);
      const { workspace } = done;
      const [later, held, quiet] = [newKey(workspace), newKey(workspace), newKey(workspace)];
      for (const key of [later, held, quiet]) await openSession(store, key);
      for (const key of [later, held]) await mustAppend(store, key, [calling(), calling(), rawText('x')]);
      for (const key of [done, later, held]) await leaseAs(store, key, 'w1');
      await store.release(done, { worker: 'w1', seq: 2 });
      await store.release(later, { worker: 'w1', seq: 4, dueAt: Date.now() + minuteMs });
      await store.rebuildProjections(workspace);
      expect(await foundIn(store, workspace)).toMatchObject([
        { ...done, seq: 2 },
        { ...held, seq: 3, lease: { isExpired: false } },
      ]);
      await leaseAs(store, done, 'w2');
      await store.release(done, { worker: 'w2', seq: 2 });
      expect(await sessionsIn(store, workspace)).toEqual([held.session]);
    });
  });
