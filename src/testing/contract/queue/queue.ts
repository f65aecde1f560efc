import { describe, expect, test } from 'vitest';
import { callsForWork } from '../../../core/ports/queue.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { event, idempotencyKey, message, opened, rawText } from '../log/new-events.ts';
import { append, forkSession, mustAppend, openSession } from '../log/session-log.ts';
import { runWriter } from '../records/record-events.ts';
import {
  calling,
  enterSession,
  enterSessions,
  entryOf,
  foundIn,
  holderNamed,
  hourMs,
  leaseAs,
  sessionsIn,
} from './work-events.ts';

export const describeQueue = (setup: ContractSetup) =>
  describe('the queue', () => {
    test('[QUEUE1] an event that calls for work enters its session into the queue, immediately visible to every store; other events do not', async () => {
      const { store, other } = setup;
      const key = newKey();
      await openSession(store, key);
      await mustAppend(store, key, [message('a', 'next'), rawText('b')]);
      expect(await foundIn(other, key.workspace)).toEqual([]);
      await mustAppend(store, key, [rawText('a'), calling(), calling(), rawText('b')]);
      expect(await foundIn(other, key.workspace)).toEqual([entryOf(key, 6)]);
      await mustAppend(other, key, [rawText('c')]);
      expect(await foundIn(store, key.workspace)).toEqual([entryOf(key, 6)]);
      await mustAppend(other, key, [calling()]);
      expect(await foundIn(store, key.workspace)).toEqual([entryOf(key, 9)]);
    });

    test('[QUEUE1] every event type that calls for work enters its session into the queue', async () => {
      const { store } = setup;
      for (const type of callsForWork) {
        const key = newKey();
        await openSession(store, key);
        await mustAppend(store, key, [type === 'session.handed' ? event(type, { to: 'human' }) : calling('x', type)], {
          writer: runWriter,
        });
        expect(await foundIn(store, key.workspace)).toEqual([entryOf(key, 2)]);
      }
    });

    test('[QUEUE1, LOG3] an append that does not land enters nothing into the queue', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      const used = idempotencyKey('k', 'body');
      await mustAppend(store, key, [rawText('a')], { key: used });
      await append(store, key, [calling()], { onHead: 1 });
      await append(store, key, [calling()], { whileStatus: ['closed'] });
      await append(store, key, [calling()], { writer: { kind: 'run', epoch: 9, claim: '' } });
      await append(store, key, [calling()], { key: used });
      await append(store, key, [calling()], { key: idempotencyKey('k', 'another') });
      await append(store, newKey(key.workspace), [calling()]);
      await append(store, key, [opened(), calling()], { creates: {} });
      await expect(append(store, key, [calling('x', 'run.started')])).rejects.toMatchObject({
        code: 'WRITER_FORBIDDEN',
      });
      expect(await foundIn(store, key.workspace)).toEqual([]);
    });

    test('[QUEUE1] appends that share a transaction each enter their own session into the queue', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const keys = Array.from({ length: 10 }, () => newKey(workspace));
      await Promise.all(keys.map((key) => openSession(store, key)));
      await Promise.all(
        keys.flatMap((key, i) => [
          append(store, key, [i % 2 ? calling() : rawText('x')]),
          append(store, key, [calling()], { onHead: 99 }),
          append(store, key, [i % 2 ? calling() : rawText('x'), rawText('y')]),
        ]),
      );
      const found = await foundIn(store, workspace);
      const expected = keys.filter((_, i) => i % 2).map((key) => entryOf(key, 3));
      expect(found.toSorted((a, b) => (a.session < b.session ? -1 : 1))).toEqual(expected);
    });

    test('[QUEUE1] a fork does not share the work of its parent', async () => {
      const { store } = setup;
      const parent = await enterSession(store);
      const child = newKey(parent.workspace);
      await forkSession(store, parent, 2, child);
      expect(await sessionsIn(store, parent.workspace)).toEqual([parent.session]);
      await mustAppend(store, child, [calling()]);
      expect(await foundIn(store, parent.workspace)).toEqual([entryOf(parent, 2), entryOf(child, 4)]);
    });

    test('[QUEUE2] the oldest work is listed first, new events do not change its position, and held work is listed last', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      const keys = await enterSessions(store, workspace, 5);
      const [a, b, c, d, e] = keys.map(({ session }) => session);
      await mustAppend(other, keys[0]!, [calling()]);
      expect(await sessionsIn(store, workspace)).toEqual([a, b, c, d, e]);
      for (const index of [0, 1]) expect(await leaseAs(store, keys[index]!, 'w1')).toBe(true);
      expect(await sessionsIn(other, workspace)).toEqual([c, d, e, a, b]);
      expect(await sessionsIn(other, workspace, 2)).toEqual([c, d]);
      const held = { holder: holderNamed('w1'), isExpired: false };
      expect((await foundIn(other, workspace)).map(({ lease }) => lease)).toEqual([
        ...Array(3).fill(undefined),
        held,
        held,
      ]);
      await mustAppend(store, keys[0]!, [calling()]);
      await store.finish(keys[0]!, { worker: 'w1', seq: 3 });
      expect(await sessionsIn(other, workspace)).toEqual([c, d, e, a, b]);
      expect((await foundIn(other, workspace))[3]).toEqual(entryOf(keys[0]!, 4));
    });

    test('[QUEUE2] work and its leases are still there after a restart', async () => {
      const first = await setup.open();
      const workspace = newWorkspace();
      const [mine, free] = await enterSessions(first, workspace, 2);
      await leaseAs(first, mine!, 'w1');
      await first.close();
      const second = await setup.open();
      expect(await foundIn(second, workspace)).toEqual([
        entryOf(free!, 2),
        { ...entryOf(mine!, 2), lease: { holder: holderNamed('w1'), isExpired: false } },
      ]);
      expect(await leaseAs(second, mine!, 'w2')).toBe(false);
    });

    test('[QUEUE2] a session is found when it is due, or earlier if there is a new event', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      const [later, soon, past] = await enterSessions(store, workspace, 3);
      for (const key of [later!, soon!, past!]) await leaseAs(store, key, 'w1');
      await store.finish(later!, { worker: 'w1', seq: 2, inMs: hourMs });
      await store.finish(past!, { worker: 'w1', seq: 2, inMs: -0.5 });
      await store.finish(soon!, { worker: 'w1', seq: 2, inMs: 300 });
      expect(await foundIn(other, workspace)).toContainEqual(entryOf(past!, 2));
      expect(await sessionsIn(other, workspace)).not.toContain(later!.session);
      await expect.poll(() => sessionsIn(other, workspace)).toEqual([past!.session, soon!.session]);
      await mustAppend(store, later!, [calling()]);
      expect(await sessionsIn(other, workspace)).toEqual([past!.session, soon!.session, later!.session]);
    });

    test('[QUEUE2] due work stays in the queue until a worker finishes it, whichever worker held the session in between', async () => {
      const { store } = setup;
      const key = await enterSession(store);
      await leaseAs(store, key, 'w1');
      await store.finish(key, { worker: 'w1', seq: 2, inMs: 0 });
      expect(await leaseAs(store, key, 'w2', { forMs: 1 })).toBe(true);
      await expect.poll(() => leaseAs(store, key, 'w3')).toBe(true);
      expect(await sessionsIn(store, key.workspace)).toEqual([key.session]);
      await store.release(key, { worker: 'w3' });
      expect(await leaseAs(store, key, 'w4')).toBe(true);
      await store.finish(key, { worker: 'w4', seq: 2 });
      expect(await foundIn(store, key.workspace)).toEqual([]);
      expect(await leaseAs(store, key, 'w4')).toBe(false);
    });

    test('[QUEUE2] a delay of any length is accepted, and a new event makes the session due immediately', async () => {
      const { store } = setup;
      for (const inMs of [2 ** 40, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY]) {
        const key = await enterSession(store);
        await leaseAs(store, key, 'w1');
        await store.finish(key, { worker: 'w1', seq: 2, inMs });
        expect(await foundIn(store, key.workspace)).toEqual([]);
        await mustAppend(store, key, [calling()]);
        expect(await foundIn(store, key.workspace)).toEqual([entryOf(key, 3)]);
      }
    });

    test('[QUEUE2, TEN1] work of another workspace cannot be found, claimed or finished, even with equal session ids', async () => {
      const { store } = setup;
      const mine = await enterSession(store);
      const theirs = { ...mine, workspace: newWorkspace() };
      expect(await foundIn(store, theirs.workspace)).toEqual([]);
      expect(await leaseAs(store, theirs, 'w1')).toBe(false);
      await mustAppend(store, theirs, [opened(), rawText('a'), calling()], { creates: {} });
      expect(await leaseAs(store, theirs, 'w1')).toBe(true);
      expect(await leaseAs(store, mine, 'w2')).toBe(true);
      await store.finish(mine, { worker: 'w1', seq: 9 });
      await store.finish(theirs, { worker: 'w1', seq: 9 });
      expect(await foundIn(store, theirs.workspace)).toEqual([]);
      expect(await foundIn(store, mine.workspace)).toMatchObject([{ ...mine, seq: 2, lease: { isExpired: false } }]);
    });
  });
