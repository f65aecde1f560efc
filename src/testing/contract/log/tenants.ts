import { describe, expect, test } from 'vitest';
import type { SessionKey } from '../../../core/ports/store.ts';
import { blobHash } from '../../../core/session/events/chain.ts';
import { hexOf } from '../../memory-database.ts';
import { copiesOf, sendCopies } from '../bundles/session-copies.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { called, committed, runWriter } from '../records/record-events.ts';
import { callsOf, commitsOf, within } from '../records/record-pages.ts';
import { newWakeSignal } from '../waking/wake-signal.ts';
import { idempotencyKey, message, noise, opened, raw, rawText } from './new-events.ts';
import {
  append,
  asImported,
  expectSound,
  forkSession,
  mustAppend,
  mustHead,
  openSession,
  readAll,
  textOf,
} from './session-log.ts';

/** The same session id in two workspaces. */
const twins = (): readonly [SessionKey, SessionKey] => {
  const mine = newKey();
  return [mine, { ...mine, workspace: newWorkspace() }];
};

export const describeTenants = (setup: ContractSetup) =>
  describe('workspaces', () => {
    test('[TEN1] a session of another workspace is reported as not existing', async () => {
      const { store, tamper } = setup;
      const [mine, other] = twins();
      const bytes = noise(20_000, 1);
      await openSession(store, mine);
      const key = idempotencyKey('k', 'body');
      await mustAppend(store, mine, [message('a', 'next'), raw(bytes)], { key });
      await store.putSnapshot(mine, { seq: 1, foldVersion: 1, parts: { a: noise(10, 1) } });
      expect(await store.head(other)).toBeUndefined();
      expect((await store.list(other.workspace, { limit: 10 })).sessions).toEqual([]);
      expect(await store.read(other, { limit: 10 })).toEqual([]);
      expect(await store.turnStarts(other, { from: 0, limit: 10 })).toEqual([]);
      expect(await store.family(other)).toEqual([]);
      expect(await store.readBlob(other.workspace, hexOf(blobHash(bytes)))).toBeUndefined();
      expect(await store.snapshot(other, { seq: 9, foldVersion: 1 })).toBeUndefined();
      expect(await store.keys(other)).toEqual([]);
      expect(await store.findBlobEvents(other.workspace, { limit: 10 })).toEqual([]);
      expect(await store.looseBlobs(other.workspace, { limit: 10 })).toEqual([]);
      expect(await tamper.countPieces(other.workspace)).toBe(0);
      expect(await append(store, other, [rawText('x')])).toEqual({ outcome: 'missing' });
      const creates = { parent: { session: mine.session, seq: 1 } };
      expect(await append(store, newKey(other.workspace), [opened()], { creates })).toEqual({ outcome: 'missing' });
    });

    test('[TEN1] sessions with equal ids in two workspaces are independent', async () => {
      const { store } = setup;
      const [mine, other] = twins();
      const key = idempotencyKey('k', 'body');
      await mustAppend(store, mine, [opened({ title: 'mine' })], { creates: {}, at: 1_000 });
      await mustAppend(store, other, [opened({ title: 'other' })], { creates: {}, at: 2_000 });
      await mustAppend(store, mine, [message('mine', 'next'), rawText('mine')], { key, raisesEpoch: true });
      await mustAppend(store, other, [rawText('other')], { key });
      await mustAppend(store, other, [rawText('run')], { writer: { kind: 'run', epoch: 0, claim: '' }, onHead: 2 });
      for (const [each, title, length] of [
        [mine, 'mine', 3],
        [other, 'other', 3],
      ] as const) {
        const events = await expectSound(store, each);
        expect(events).toHaveLength(length);
        const listed = (await store.list(each.workspace, { limit: 10 })).sessions;
        expect(listed.map((summary) => summary.title)).toEqual([title]);
        expect((await store.family(each)).map((head) => head.summary.title)).toEqual([title]);
      }
      expect((await readAll(store, other)).slice(1).map(textOf)).toEqual(['other', 'run']);
      expect(await store.keys(mine)).toEqual([{ ...key, seq: 2, count: 2 }]);
      expect(await store.keys(other)).toEqual([{ ...key, seq: 2, count: 1 }]);
      expect([(await mustHead(store, mine)).epoch, (await mustHead(store, other)).epoch]).toEqual([1, 0]);
      expect(await store.turnStarts(other, { from: 0, limit: 10 })).toEqual([]);
    });

    test('[TEN1] forks and snapshots of sessions with equal ids stay in their workspaces', async () => {
      const { store } = setup;
      const [mine, other] = twins();
      const child = newKey(mine.workspace).session;
      const sides = [
        { root: mine, text: 'mine', at: 3 },
        { root: other, text: 'other', at: 2 },
      ];
      for (const { root, text, at } of sides) {
        await openSession(store, root);
        await mustAppend(store, root, [rawText(text), rawText(text)]);
        await forkSession(store, root, at, { ...root, session: child });
      }
      await store.putSnapshot(mine, { seq: 1, foldVersion: 1, parts: { a: noise(10, 1) } });
      for (const reader of [store, setup.other]) {
        for (const { root, text, at } of sides) {
          const events = await expectSound(reader, { ...root, session: child });
          expect(events).toHaveLength(at + 1);
          expect(textOf(events[1]!)).toBe(text);
          const family = await reader.family(root);
          expect(family.map(({ parent }) => parent?.seq)).toEqual([undefined, at]);
        }
        expect(await reader.snapshot({ ...other, session: child }, { seq: 3, foldVersion: 1 })).toBeUndefined();
      }
    });

    test('[TEN1] commits and calls of another workspace are not found, even if sessions and their forks have equal ids', async () => {
      const { store } = setup;
      const [mine, other] = twins();
      const child = newKey(mine.workspace).session;
      for (const [each, path] of [
        [mine, '/facts/mine'],
        [other, '/facts/other'],
      ] as const) {
        await openSession(store, each);
        await mustAppend(store, each, [committed([path]), called(path)], { writer: runWriter });
        await forkSession(store, each, 3, { ...each, session: child });
      }
      for (const [each, path, foreign] of [
        [mine, '/facts/mine', '/facts/other'],
        [other, '/facts/other', '/facts/mine'],
      ] as const) {
        const inherited = within({ ...each, session: child }, [1, 99]);
        const [commit] = await readAll(store, each).then((events) => events.slice(1, 2));
        for (const asked of [{}, within(each, [1, 99]), inherited]) {
          expect(await commitsOf(store, each.workspace, asked)).toEqual([commit]);
          expect(await commitsOf(store, each.workspace, { ...asked, prefix: foreign })).toEqual([]);
          expect((await callsOf(store, each.workspace, asked)).map(({ callId }) => callId)).toEqual([path]);
        }
      }
    });

    test('[TEN1] an import changes only its own workspace, even if the id exists in another', async () => {
      const { store } = setup;
      const [mine, other] = twins();
      await openSession(store, mine);
      await mustAppend(store, mine, [rawText('mine')]);
      await openSession(store, other);
      const before = await readAll(store, mine);
      const third = { ...mine, workspace: newWorkspace() };
      await store.importCopies(third.workspace, sendCopies(await copiesOf(store, [other])));
      expect(await expectSound(store, third)).toEqual(asImported(await readAll(store, other)));
      expect(await readAll(store, mine)).toEqual(before);
    });

    test('[TEN1] an append does not wake a follower of the same id in another workspace', async () => {
      const { other } = setup;
      const [mine, theirs] = twins();
      await openSession(setup.store, mine);
      await openSession(setup.store, theirs);
      for (const follower of [setup.store, other]) {
        const [quiet, woken] = [newWakeSignal(), newWakeSignal()];
        const stops = [follower.watch(mine, quiet.wake), follower.watch(theirs, woken.wake)];
        for (let i = 0; i < 10; i++) {
          await mustAppend(setup.store, theirs, [rawText('x')]);
          await woken.next();
        }
        // One wake-up may occur when the follower begins to listen, and another one late, from the creation of its own
        // session.
        expect(quiet.count).toBeLessThanOrEqual(2);
        for (const stop of stops) stop();
      }
    });
  });
