import { describe, expect, test } from 'vitest';
import type { SessionCopy, SessionKey, Store } from '../../../core/ports/store.ts';
import { blobHash } from '../../../core/session/events/chain.ts';
import { hexOf } from '../../memory-database.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { idempotencyKey, message, noise, opened, raw, rawText } from '../log/new-events.ts';
import {
  append,
  asImported,
  expectSound,
  forkSession,
  mustAppend,
  mustHead,
  openSession,
  readAll,
} from '../log/session-log.ts';
import { copiesOf, inPieces, sendCopies } from './session-copies.ts';

const used = idempotencyKey('k', 'body');

/** A root, a fork of it, and a fork of that fork at an inherited event; with turns, a blob and a key. */
const family = async (store: Store): Promise<readonly [SessionKey, SessionKey, SessionKey]> => {
  const root = newKey();
  const [child, grandchild] = [newKey(root.workspace), newKey(root.workspace)];
  await mustAppend(store, root, [opened({ title: 'root' }), message('a', 'next')], { creates: {} });
  await mustAppend(store, root, [rawText('b'), raw(noise(20_000, 1))], { key: used, at: 2_000 });
  await mustAppend(store, root, [message('c', 'next'), rawText('')], { at: 3_000 });
  await forkSession(store, root, 4, child, { about: { lastTurn: 1, messages: 1 } });
  await mustAppend(store, child, [message('d', 'next'), rawText('e')], { at: 4_000 });
  await forkSession(store, child, 3, grandchild, { about: { lastTurn: 1, messages: 1 } });
  return [root, child, grandchild];
};

const moved = (key: SessionKey, workspace: SessionKey['workspace']): SessionKey => ({ ...key, workspace });
const firstEvents = (copy: SessionCopy, count: number): SessionCopy => ({
  ...copy,
  events: copy.events.slice(0, count),
  keys: [],
});

export const describeBundles = (setup: ContractSetup) =>
  describe('importCopies', () => {
    test('[BUN1] imported sessions have the same events, blobs, keys, lineage, turns, summaries and hashes', async () => {
      const { store } = setup;
      const keys = await family(store);
      const workspace = newWorkspace();
      const imported = await store.importCopies(workspace, sendCopies(await copiesOf(store, keys)));
      expect(imported.sessions).toEqual([
        { session: keys[0].session, added: 6 },
        { session: keys[1].session, added: 3 },
        { session: keys[2].session, added: 1 },
      ]);
      const reopened = await setup.open();
      for (const key of keys) {
        const here = moved(key, workspace);
        expect(await expectSound(reopened, here)).toEqual(asImported(await readAll(store, key)));
        const { summary, ...head } = await mustHead(store, key);
        expect(await reopened.head(here)).toEqual({ ...head, workspace, summary: { ...summary, tainted: ['import'] } });
        const turns = { from: 0, limit: 100 };
        expect(await reopened.turnStarts(here, turns)).toEqual(await store.turnStarts(key, turns));
        expect(await reopened.keys(here)).toEqual(await store.keys(key));
      }
      const bytes = await reopened.readBlob(workspace, hexOf(blobHash(noise(20_000, 1))));
      expect(bytes && Buffer.from(bytes).equals(noise(20_000, 1))).toBe(true);
      const listed = (await reopened.list(workspace, { limit: 10 })).sessions;
      const original = (await store.list(keys[0].workspace, { limit: 10 })).sessions;
      expect(listed).toEqual(original.map((each) => ({ ...each, tainted: ['import'] })));
    });

    test('[BUN1] an imported session can be appended to and forked, and its keys still deduplicate', async () => {
      const { store } = setup;
      const [root] = await family(store);
      const here = moved(root, newWorkspace());
      await store.importCopies(here.workspace, sendCopies(await copiesOf(store, [root])));
      expect(await append(store, here, [rawText('b')], { key: used })).toEqual({
        outcome: 'duplicate',
        seq: 3,
        count: 2,
      });
      await mustAppend(store, here, [message('more', 'next')], { onHead: 6 });
      const child = newKey(here.workspace);
      await forkSession(store, here, 7, child);
      await expectSound(store, here);
      await expectSound(store, child);
    });

    test('[BUN1] a copy may arrive in pieces, or straight from a read of the same store', async () => {
      const { store } = setup;
      const keys = await family(store);
      const pieces = (await copiesOf(store, keys)).flatMap((copy) => inPieces(copy, 2));
      const inPiecesHere = newWorkspace();
      const imported = await store.importCopies(inPiecesHere, sendCopies(pieces));
      expect(imported.sessions.map(({ added }) => added)).toEqual([6, 3, 1]);
      const asRead = newWorkspace();
      await store.importCopies(
        asRead,
        (async function* () {
          for (const key of keys) yield* await copiesOf(store, [key]);
        })(),
      );
      for (const key of keys) {
        for (const workspace of [inPiecesHere, asRead]) {
          expect(await expectSound(store, moved(key, workspace))).toEqual(asImported(await readAll(store, key)));
          expect(await store.keys(moved(key, workspace))).toEqual(await store.keys(key));
        }
      }
    });

    test('[BUN1] importing nothing changes nothing', async () => {
      const workspace = newWorkspace();
      expect(await setup.store.importCopies(workspace, sendCopies([]))).toEqual({ sessions: [] });
      expect((await setup.store.list(workspace, { limit: 1 })).sessions).toEqual([]);
    });

    test('[BUN2] importing a copy again changes nothing, even a shorter copy, and even into the workspace it came from', async () => {
      const { store } = setup;
      const keys = await family(store);
      const workspace = newWorkspace();
      const copies = await copiesOf(store, keys);
      await store.importCopies(workspace, sendCopies(copies));
      const stateOf = async (where: SessionKey['workspace']) => ({
        heads: await Promise.all(keys.map((key) => mustHead(store, moved(key, where)))),
        events: await Promise.all(keys.map((key) => readAll(store, moved(key, where)))),
        keys: await Promise.all(keys.map((key) => store.keys(moved(key, where)))),
        pieces: await setup.tamper.countPieces(where),
      });
      for (const where of [workspace, keys[0].workspace]) {
        const before = await stateOf(where);
        for (const again of [copies, copies.map((copy) => firstEvents(copy, 1)), inPieces(copies[0]!, 4)]) {
          const { sessions } = await store.importCopies(where, sendCopies(again));
          expect(sessions.map(({ added }) => added)).toEqual(sessions.map(() => 0));
        }
        expect(await stateOf(where)).toEqual(before);
      }
    });

    test('[BUN2] importing a longer copy adds the new events and keys, and fences runs on the old head', async () => {
      const { store } = setup;
      const [root] = await family(store);
      const here = moved(root, newWorkspace());
      const [whole] = await copiesOf(store, [root]);
      await store.importCopies(here.workspace, sendCopies([firstEvents(whole!, 2)]));
      const before = await mustHead(store, here);
      const { sessions } = await store.importCopies(here.workspace, sendCopies([whole!]));
      expect(sessions).toEqual([{ session: root.session, added: 4 }]);
      expect(await expectSound(store, here)).toEqual(asImported(await readAll(store, root)));
      expect(await store.keys(here)).toEqual(await store.keys(root));
      for (const { epoch } of [before, await mustHead(store, here)]) {
        const writer = { kind: 'run', epoch, claim: before.claim } as const;
        expect(await append(store, here, [rawText('x')], { writer })).toMatchObject({ outcome: 'fenced' });
      }
    });

    test('[BUN2] two stores that import the same copies concurrently both succeed, and store them once', async () => {
      const { other } = setup;
      const keys = await family(setup.store);
      const copies = await copiesOf(setup.store, keys);
      const workspace = newWorkspace();
      const both = await Promise.all(
        [setup.store, other].map((store) => store.importCopies(workspace, sendCopies(copies))),
      );
      const added = both.map(({ sessions }) => sessions.reduce((sum, session) => sum + session.added, 0));
      expect(added.toSorted((a, b) => a - b)).toEqual([0, 10]);
      for (const key of keys) await expectSound(other, moved(key, workspace));
    });

    test('[BUN2] importing a different log under the same id fails with BUNDLE_CONFLICT and changes nothing', async () => {
      const { store } = setup;
      const [root, child] = await family(store);
      const here = moved(root, newWorkspace());
      await openSession(store, here);
      await mustAppend(store, here, [rawText('mine')]);
      const before = await readAll(store, here);
      const [copy, childCopy] = await copiesOf(store, [root, child]);
      for (const copies of [[copy!], [firstEvents(copy!, 1)], [copy!, childCopy!]]) {
        const importing = store.importCopies(here.workspace, sendCopies(copies));
        await expect(importing).rejects.toMatchObject({ code: 'BUNDLE_CONFLICT' });
      }
      expect(await readAll(store, here)).toEqual(before);
      expect((await store.list(here.workspace, { limit: 10 })).sessions).toHaveLength(1);
    });

    test('[BUN2] importing a key that this store used for another append fails and changes nothing', async () => {
      const { store } = setup;
      const [root] = await family(store);
      const here = moved(root, newWorkspace());
      const [copy] = await copiesOf(store, [root]);
      await store.importCopies(here.workspace, sendCopies([{ ...copy!, events: copy!.events.slice(0, 4) }]));
      const other = { ...copy!.keys[0]!, bodyHash: idempotencyKey('k', 'another body').bodyHash };
      const importing = store.importCopies(here.workspace, sendCopies([{ ...copy!, keys: [other] }]));
      await expect(importing).rejects.toMatchObject({ code: 'BUNDLE_CONFLICT' });
      expect(await expectSound(store, here)).toHaveLength(4);
      expect(await store.keys(here)).toEqual(copy!.keys);
    });

    test('[BUN2] importing a log that diverges after a common beginning fails', async () => {
      const { store } = setup;
      const [root] = await family(store);
      const here = moved(root, newWorkspace());
      const [copy] = await copiesOf(store, [root]);
      await store.importCopies(here.workspace, sendCopies([firstEvents(copy!, 3)]));
      await mustAppend(store, here, [rawText('another way')]);
      const importing = store.importCopies(here.workspace, sendCopies([copy!]));
      await expect(importing).rejects.toMatchObject({ code: 'BUNDLE_CONFLICT' });
      expect(await expectSound(store, here)).toHaveLength(4);
    });
  });
