import { describe, expect, test } from 'vitest';
import { blobHash } from '../../../core/session/events/chain.ts';
import { hexOf } from '../../memory-database.ts';
import { type ContractSetup, newKey } from '../contract-setup.ts';
import { idempotencyKey, message, noise, opened, raw, rawText } from './new-events.ts';
import { append, expectSound, firstBad, mustAppend, mustHead, openSession, readAll, seqs } from './session-log.ts';

export const describeAppends = (setup: ContractSetup) =>
  describe('append', () => {
    test('[LOG1] events are numbered densely from 1 over several appends', async () => {
      const { store } = setup;
      const key = newKey();
      const first = await mustAppend(store, key, [opened(), message('a', 'next')], { creates: {} });
      const second = await mustAppend(store, key, [rawText('b'), rawText('c'), rawText('d')]);
      expect([...seqs(first.events), ...seqs(second.events)]).toEqual([1, 2, 3, 4, 5]);
      expect(seqs(await expectSound(store, key))).toEqual([1, 2, 3, 4, 5]);
    });

    test('[LOG1] an append returns the same events and head as later reads', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      const { events, head } = await mustAppend(store, key, [message('a', 'next'), rawText('b')], { at: 2_000 });
      expect(await store.read(key, { after: 1, limit: 10 })).toEqual(events);
      expect(await mustHead(store, key)).toEqual(head);
      expect(head).toMatchObject({ ...key, root: key.session, seq: 3, at: 2_000, epoch: 0 });
      expect(head.parent).toBeUndefined();
    });

    test('[LOG1] a session that does not exist has no head and no events, and rejects appends', async () => {
      const { store } = setup;
      const key = newKey();
      expect(await append(store, key, [rawText('a')])).toEqual({ outcome: 'missing' });
      expect(await store.head(key)).toBeUndefined();
      expect(await store.read(key, { limit: 10 })).toEqual([]);
      expect(await store.turnStarts(key, { from: 0, limit: 10 })).toEqual([]);
      expect(await store.family(key)).toEqual([]);
      expect(await store.keys(key)).toEqual([]);
      expect(await store.snapshot(key, { seq: 10, foldVersion: 1 })).toBeUndefined();
    });

    test('[LOG1] a session is created once, even when two stores create it at the same time', async () => {
      const key = newKey();
      const { other } = setup;
      const racing = await Promise.all(
        [setup.store, other, setup.store, other].map((store) => append(store, key, [opened()], { creates: {} })),
      );
      expect(racing.map(({ outcome }) => outcome).sort()).toEqual(['appended', 'exists', 'exists', 'exists']);
      expect(await append(setup.store, key, [opened()], { creates: {} })).toEqual({ outcome: 'exists' });
      expect(await expectSound(setup.store, key)).toHaveLength(1);
    });

    test('[LOG3] a rejected append leaves no event, blob or key, and does not move the head', async () => {
      const { store, tamper } = setup;
      const key = newKey();
      await openSession(store, key);
      await mustAppend(store, key, [rawText('a')]);
      const before = await mustHead(store, key);
      const pieces = await tamper.countPieces(key.workspace);
      const large = noise(20_000, 1);
      const refused = await append(store, key, [rawText('b'), raw(large)], {
        onHead: 1,
        key: idempotencyKey('k', 'body'),
      });
      expect(refused).toEqual({ outcome: 'conflict', head: 2 });
      expect(await mustHead(store, key)).toEqual(before);
      expect(await readAll(store, key)).toHaveLength(2);
      expect(await store.keys(key)).toEqual([]);
      expect(await store.readBlob(key.workspace, hexOf(blobHash(large)))).toBeUndefined();
      expect(await tamper.countPieces(key.workspace)).toBe(pieces);
    });

    test('[LOG3] a session whose first append is rejected does not exist', async () => {
      const { store } = setup;
      const key = newKey();
      const parent = { session: newKey().session, seq: 3 };
      expect(await append(store, key, [opened()], { creates: { parent } })).toEqual({ outcome: 'missing' });
      expect(await store.head(key)).toBeUndefined();
      expect((await store.list(key.workspace, { limit: 10 })).sessions).toEqual([]);
    });

    test('[LOG3] a reader in another store sees all events of an append or none', async () => {
      const key = newKey();
      const { other } = setup;
      await openSession(setup.store, key);
      const writing = (async () => {
        for (let i = 0; i < 30; i++) await mustAppend(setup.store, key, [rawText('a'), rawText('b'), rawText('c')]);
      })();
      let done = false;
      const finished = writing.finally(() => {
        done = true;
      });
      while (!done) {
        const head = await mustHead(other, key);
        expect((head.seq - 1) % 3).toBe(0);
        expect(head.summary.seq).toBe(head.seq);
        const events = await readAll(other, key);
        expect((events.length - 1) % 3).toBe(0);
        expect(events.length).toBeGreaterThanOrEqual(head.seq);
      }
      await finished;
      expect(await expectSound(other, key)).toHaveLength(91);
    });

    test('[LOG4] a decision on the current head lands', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      expect((await mustAppend(store, key, [rawText('a')], { onHead: 1 })).head.seq).toBe(2);
    });

    test('[LOG4] a decision on a stale or future head reports a conflict and writes nothing', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      await mustAppend(store, key, [rawText('a')]);
      for (const onHead of [0, 1, 3]) {
        expect(await append(store, key, [rawText('b')], { onHead })).toEqual({ outcome: 'conflict', head: 2 });
      }
      expect(await expectSound(store, key)).toHaveLength(2);
    });

    test('[LOG4] a decision on a head with another hash at that seq reports a conflict, and an append that lands returns the previous hash', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      const { hash } = await mustHead(store, key);
      const onHash = Buffer.from(hash).toString('hex');
      const other = Buffer.alloc(32, 7).toString('hex');
      expect(await append(store, key, [rawText('a')], { onHead: 1, onHash: other })).toEqual({
        outcome: 'conflict',
        head: 1,
      });
      const { previous } = await mustAppend(store, key, [rawText('a')], { onHead: 1, onHash });
      expect(Buffer.from(previous).equals(hash)).toBe(true);
      expect(await expectSound(store, key)).toHaveLength(2);
    });

    test('[LOG4, LOG10] a fact lands at any head', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      await Promise.all(['a', 'b', 'c'].map((text) => mustAppend(store, key, [rawText(text)])));
      expect(await expectSound(store, key)).toHaveLength(4);
    });

    test('[LOG5] an event from a clock that is behind gets the time of the head', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key, { at: 5_000 });
      await mustAppend(store, key, [rawText('slow'), rawText('slow')], { at: 4_000 });
      await mustAppend(store, key, [rawText('fast')], { at: 6_000 });
      await mustAppend(store, key, [rawText('slow')], { at: 0 });
      expect((await readAll(store, key)).map(({ at }) => at)).toEqual([5_000, 5_000, 5_000, 6_000, 6_000]);
      expect((await mustHead(store, key)).summary).toMatchObject({ createdAt: 5_000, updatedAt: 6_000 });
    });

    test('[LOG2] acknowledged events are still there after a restart', async () => {
      const key = newKey();
      const first = await setup.open();
      await openSession(first, key);
      await mustAppend(first, key, [message('a', 'next')], { key: idempotencyKey('k', 'body') });
      const before = { head: await mustHead(first, key), events: await readAll(first, key) };
      await first.close();
      const second = await setup.open();
      expect({ head: await mustHead(second, key), events: await readAll(second, key) }).toEqual(before);
      expect(await firstBad(second, key)).toBeUndefined();
    });
  });
