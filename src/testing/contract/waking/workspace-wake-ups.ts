import { describe, expect, test } from 'vitest';
import type { SessionKey, Store } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { copiesOf, sendCopies } from '../bundles/session-copies.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { rawText } from '../log/new-events.ts';
import { mustAppend, openSession as openAt } from '../log/session-log.ts';
import { newWakeSignal } from './wake-signal.ts';

/** Opens with the current time, because watchers find earlier changes by their time. */
const openSession = (store: Store, key: SessionKey) => openAt(store, key, { at: Date.now() });

/** Watches the workspace, and records the newest seq reported for each session. */
const hearing = (store: Store, workspace: WorkspaceId) => {
  const signal = newWakeSignal();
  const heads = new Map<SessionId, number>();
  const stop = store.watchWorkspace(workspace, (session, seq) => {
    heads.set(session, Math.max(heads.get(session) ?? 0, seq));
    signal.wake();
  });
  const heard = async (session: SessionId, seq: number) => {
    while ((heads.get(session) ?? 0) < seq) await signal.next();
  };
  return { signal, heads, stop, heard };
};

export const describeWorkspaceWakeUps = (setup: ContractSetup) =>
  describe('wake-ups for a workspace', () => {
    const places = {
      'the same store': async () => setup.store,
      'another store on the same database': () => setup.open(),
    };
    for (const [place, openHearer] of Object.entries(places)) {
      test(`[WAKE4] a workspace watcher in ${place} is notified of each created or changed session, with its newest seq`, async () => {
        const keys = [newKey()];
        keys.push(newKey(keys[0]!.workspace), newKey(keys[0]!.workspace));
        const { stop, heard, heads } = hearing(await openHearer(), keys[0]!.workspace);
        for (const key of keys) {
          await openSession(setup.store, key);
          await heard(key.session, 1);
          await mustAppend(setup.store, key, [rawText('a'), rawText('b')]);
          await heard(key.session, 3);
        }
        expect(heads).toEqual(new Map(keys.map(({ session }) => [session, 3])));
        stop();
      });

      test(`[WAKE4] a workspace watcher in ${place} is notified of an import`, async () => {
        const key = newKey();
        await openSession(setup.store, key);
        const copies = await copiesOf(setup.store, [key]);
        const workspace = newWorkspace();
        const { stop, heard } = hearing(await openHearer(), workspace);
        await setup.store.importCopies(workspace, sendCopies(copies));
        await heard(key.session, 1);
        stop();
      });
    }

    test('[WAKE4, TEN1] a workspace watcher is not notified of changes in another workspace', async () => {
      const [mine, theirs] = [newKey(), newKey()];
      for (const store of [setup.store, setup.other]) {
        const [quiet, woken] = [hearing(store, mine.workspace), hearing(store, theirs.workspace)];
        const key = newKey(theirs.workspace);
        await openSession(setup.store, key);
        await woken.heard(key.session, 1);
        expect(quiet.heads.size).toBe(0);
        for (const { stop } of [quiet, woken]) stop();
      }
    });

    test('[WAKE4] an append is acknowledged whatever the watchers do, and a stopped watcher is not notified', async () => {
      const { store } = setup;
      const key = newKey();
      const closing = await setup.open();
      const [stopped, closed, stays] = [store, closing, store].map((each) => hearing(each, key.workspace));
      stopped!.stop();
      stopped!.stop();
      await closing.close();
      await openSession(store, key);
      await stays!.heard(key.session, 1);
      expect([stopped!.heads.size, closed!.heads.size]).toEqual([0, 0]);
      stays!.stop();
    });
  });
