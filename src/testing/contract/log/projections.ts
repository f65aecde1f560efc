import { describe, expect, test } from 'vitest';
import type { NewEvent, Store } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { copiesOf, inPieces, sendCopies } from '../bundles/session-copies.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { answered, called, childEnded, committed, completed, runWriter } from '../records/record-events.ts';
import { callsOf, commitsOf, within } from '../records/record-pages.ts';
import { idempotencyKey, message, noise, opened, raw } from './new-events.ts';
import {
  append,
  asImported,
  expectSound,
  forkSession,
  mustAppend,
  mustHead,
  openSession,
  seqs,
} from './session-log.ts';

const byRun = { writer: runWriter };

const found = async (store: Store, workspace: WorkspaceId) => ({
  commits: await commitsOf(store, workspace),
  calls: await callsOf(store, workspace),
  usage: await store.groupCharges(workspace, { by: 'session', limit: 1_000 }),
  sessions: (await store.list(workspace, { limit: 1_000 })).sessions,
});

/** A root with commits and calls, and a fork of it with more. */
const family = async (store: Store) => {
  const root = newKey();
  const child = newKey(root.workspace);
  await mustAppend(store, root, [opened({ title: 'root' }), message('a', 'next')], { creates: {} });
  await mustAppend(store, root, [committed(['/facts/a', '/facts/b']), called('x'), completed('x')], {
    writer: runWriter,
  });
  await mustAppend(store, root, [committed(['/facts/a'], { value: 'y'.repeat(20_000) })], { at: 2_000 });
  await forkSession(store, root, 4, child, { about: { lastTurn: 1, messages: 1 } });
  await mustAppend(store, child, [committed(['/plan/c']), called('x')], { writer: runWriter, at: 3_000 });
  const usage = { inputTokens: 100, outputTokens: 60, usd: 0.25 };
  const charged = [answered(usage, { member: 'mia' }), childEnded(child.session, usage)] as const;
  await mustAppend(store, root, charged, { writer: runWriter, at: 3_000 });
  return [root, child] as const;
};

export const describeProjections = (setup: ContractSetup) =>
  describe('projections', () => {
    test('[QRY4, LOG3] projections become visible together with their event, in every store, and never for an append that does not land', async () => {
      const { store, other } = setup;
      const key = newKey();
      const { workspace } = key;
      await openSession(store, key);
      const add = [committed(['/facts/a']), called('a')] as const;
      await mustAppend(store, key, add, byRun);
      expect(seqs(await commitsOf(other, workspace))).toEqual([2]);
      expect(seqs(await callsOf(other, workspace))).toEqual([3]);
      await append(store, key, add, { writer: runWriter, onHead: 1 });
      await append(store, key, add, { writer: { kind: 'run', epoch: 9, claim: '' } });
      await append(store, key, [committed(['/facts/a'])], { whileStatus: ['closed'] });
      await expect(append(store, key, add)).rejects.toMatchObject({ code: 'WRITER_FORBIDDEN' });
      const used = idempotencyKey('k', 'body');
      for (let i = 0; i < 2; i++) await append(store, key, [committed(['/facts/k'])], { key: used });
      expect(seqs(await commitsOf(other, workspace))).toEqual([4, 2]);
      expect(seqs(await callsOf(other, workspace))).toEqual([3]);
    });

    test('[QRY4] appends that share a transaction keep their projections separate', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const keys = Array.from({ length: 8 }, () => newKey(workspace));
      await Promise.all(keys.map((key) => openSession(store, key)));
      const send = (...events: readonly [NewEvent, ...NewEvent[]]) =>
        keys.map((key) => append(store, key, events, byRun));
      await Promise.all([
        ...send(committed(['/facts/a', '/facts/b']), called('a')),
        ...send(completed('a'), called('a')),
        ...send(called('a'), completed('a'), completed('a')),
      ]);
      for (const key of keys) {
        const calls = await callsOf(store, workspace, within(key, [1, 99]));
        expect(calls.map(({ seq, endedSeq }) => [seq, endedSeq])).toEqual([
          [6, 7],
          [5, 8],
          [3, 4],
        ]);
        expect(seqs(await commitsOf(store, workspace, within(key, [1, 99])))).toEqual([2]);
      }
    });

    test('[QRY4, BUN1] an import, even in pieces or repeated, writes the same projections as the appends did', async () => {
      const { store } = setup;
      const keys = await family(store);
      const [root] = keys;
      const copies = await copiesOf(store, keys);
      const before = await found(store, root.workspace);
      const expected = { ...before, commits: asImported(before.commits) };
      for (const size of [1, 3, 100]) {
        const workspace = newWorkspace();
        for (let times = 0; times < 2; times++) {
          await store.importCopies(workspace, sendCopies(copies.flatMap((copy) => inPieces(copy, size))));
        }
        expect(await found(store, workspace)).toMatchObject(expected);
      }
    });

    test('[QRY4] lost or changed projections are rebuilt from the log, and the log stays unchanged', async () => {
      const { store, tamper } = setup;
      const [root, child] = await family(store);
      const { workspace } = root;
      const [rows, answers] = [await tamper.projections(workspace), await found(store, workspace)];
      const sound = await expectSound(store, child);
      expect(await store.rebuildProjections(workspace)).toBe(11);
      expect(await tamper.projections(workspace)).toEqual(rows);
      for (const summaries of ['changed', 'unreadable'] as const) {
        await tamper.spoilProjections(workspace, summaries);
        expect(await found(store, workspace)).not.toEqual(answers);
        expect(await store.rebuildProjections(workspace)).toBe(11);
        expect(await tamper.projections(workspace)).toEqual(rows);
      }
      expect(await found(setup.other, workspace)).toEqual(answers);
      expect(await expectSound(store, child)).toEqual(sound);
      await mustAppend(store, child, [message('b', 'next'), completed('x')], { writer: runWriter, onHead: 7 });
      expect((await mustHead(store, child)).summary).toMatchObject({ lastTurn: 2, messages: 2 });
      expect(await callsOf(store, workspace, { status: ['running'] })).toEqual([]);
      expect(await store.rebuildProjections(newWorkspace())).toBe(0);
    });

    test('[QRY4, FOLD5] a rebuild corrects a wrong summary even after a further append, and the next append continues from the corrected one', async () => {
      const { store, tamper } = setup;
      const [root] = await family(store);
      await tamper.spoilProjections(root.workspace, 'changed');
      // A store that has not seen the right summary, and may cache the wrong one.
      const misled = await setup.open();
      await mustAppend(misled, root, [message('b', 'next')]);
      expect((await mustHead(store, root)).summary).toMatchObject({ title: 'spoiled', messages: 100 });
      await store.rebuildProjections(root.workspace);
      await mustAppend(misled, root, [message('c', 'next')]);
      expect((await mustHead(store, root)).summary).toMatchObject({ title: 'root', messages: 3, lastTurn: 3 });
      await expectSound(store, root);
    });

    test('[QRY4, TEN1] a rebuild changes only its own workspace', async () => {
      const { store, tamper } = setup;
      const [mine] = await family(store);
      const [theirs] = await family(store);
      const rows = await tamper.projections(theirs.workspace);
      await tamper.spoilProjections(mine.workspace, 'unreadable');
      await store.rebuildProjections(mine.workspace);
      expect(await tamper.projections(theirs.workspace)).toEqual(rows);
    });

    test('[QRY4, FAULT2] unreadable events have no projections and block neither an import nor a rebuild', async () => {
      const { store, tamper } = setup;
      const key = newKey();
      const { workspace } = key;
      await openSession(store, key);
      const large = committed(['/facts/large'], { value: 'z'.repeat(20_000) });
      const newer = { ...committed(['/facts/newer']), version: 99 };
      const broken = { ...raw(noise(20, 1)), type: 'state.committed' };
      const small = [committed(['/facts/a']), committed(['/facts/b']), committed(['/facts/c'])] as const;
      await mustAppend(store, key, [...small, large, newer, broken]);
      expect(seqs(await commitsOf(store, workspace))).toEqual([5, 4, 3, 2]);
      await tamper.redact(key, 3);
      const elsewhere = newWorkspace();
      const [copy] = await copiesOf(store, [key]);
      await store.importCopies(elsewhere, sendCopies([{ ...copy!, events: copy!.events.slice(0, 6) }]));
      expect(seqs(await commitsOf(store, elsewhere))).toEqual([5, 4, 2]);
      await tamper.changePayload(key, 5);
      expect(await store.rebuildProjections(workspace)).toBe(7);
      expect(seqs(await commitsOf(store, workspace))).toEqual(expect.arrayContaining([4, 2]));
      expect(seqs(await commitsOf(store, workspace))).not.toContain(3);
    });

    test('[QRY4] a session whose summary cannot be rebuilt keeps the stored one', async () => {
      const { store, tamper } = setup;
      const [root, child] = await family(store);
      await tamper.redact(root, 1);
      const { summary } = await mustHead(store, root);
      expect(await store.rebuildProjections(root.workspace)).toBe(11);
      expect((await mustHead(store, root)).summary).toEqual(summary);
      expect((await mustHead(store, child)).summary).toMatchObject({ parent: root.session, seq: 7 });
    });

    test('[QRY4, LOG2] events appended during a rebuild have their projections exactly once', async () => {
      const { store, other, tamper } = setup;
      const workspace = newWorkspace();
      const keys = Array.from({ length: 30 }, () => newKey(workspace));
      await Promise.all(keys.map((key) => mustAppend(store, key, [opened(), called('x')], { creates: {}, ...byRun })));
      let isDone = false;
      const rebuilding = store.rebuildProjections(workspace).finally(() => {
        isDone = true;
      });
      let rounds = 0;
      do {
        const add = [committed([`/facts/${rounds++}`]), completed('x'), called('x')] as const;
        await Promise.all(keys.map((key) => mustAppend(other, key, add, byRun)));
        const made = newKey(workspace);
        await mustAppend(other, made, [opened(), ...add], { creates: {}, ...byRun });
        keys.push(made);
      } while (!isDone);
      await rebuilding;
      const rows = await tamper.projections(workspace);
      const total = keys.reduce((sum, _, index) => sum + (index < 30 ? rounds : rounds - (index - 30)), 0);
      expect(await store.findCommits(workspace, { limit: 10_000 })).toHaveLength(total);
      await store.rebuildProjections(workspace);
      expect(await tamper.projections(workspace)).toEqual(rows);
      for (const key of keys) await expectSound(other, key);
    });
  });
