import { describe, expect, test } from 'vitest';
import type { SessionKey, Store } from '../../../core/ports/store.ts';
import { type ContractSetup, newKey } from '../contract-setup.ts';
import { event, forked, message, noise, opened, raw, rawText } from './new-events.ts';
import { append, expectSound, forkSession, mustAppend, mustHead, openSession, readAll, seqs } from './session-log.ts';

/** A root whose event n opens turn n - 1. */
const rootOfTurns = async (store: Store, turns: number): Promise<SessionKey> => {
  const key = newKey();
  const messages = Array.from({ length: turns }, (_, i) => message(`root ${i + 1}`, 'next'));
  await mustAppend(store, key, [opened(), ...messages], { creates: {} });
  return key;
};

const forkAt = async (store: Store, parent: SessionKey, seq: number): Promise<SessionKey> => {
  const child = newKey(parent.workspace);
  await forkSession(store, parent, seq, child, { about: { lastTurn: seq - 1, messages: seq - 1 } });
  return child;
};

export const describeForks = (setup: ContractSetup) =>
  describe('forks', () => {
    test('[FORK1] a child reads the events of its parent up to the fork point as its own', async () => {
      const { store } = setup;
      const parent = await rootOfTurns(store, 4);
      const child = await forkAt(store, parent, 3);
      await mustAppend(store, child, [message('child', 'next')]);
      const events = await expectSound(store, child);
      expect(events.slice(0, 3)).toEqual((await readAll(store, parent)).slice(0, 3));
      expect(events.map(({ session }) => session)).toEqual([
        ...Array(3).fill(parent.session),
        ...Array(2).fill(child.session),
      ]);
      const head = await mustHead(store, child);
      expect(head).toMatchObject({
        parent: { session: parent.session, seq: 3 },
        root: parent.session,
        seq: 5,
        epoch: 0,
      });
      expect(head.summary).toMatchObject({ parent: parent.session, forkedAt: 3 });
    });

    test('[WHY5, FORK1] a read within ranges returns only their events, in both orders, also inherited ones', async () => {
      const { store } = setup;
      const parent = newKey();
      await openSession(store, parent);
      await mustAppend(store, parent, [raw(noise(10, 1)), raw(noise(10, 2)), raw(noise(10, 3)), raw(noise(10, 4))]);
      const child = await forkAt(store, parent, 3);
      await mustAppend(store, child, [raw(noise(10, 5)), raw(noise(10, 6)), raw(noise(10, 7))]);
      const within = [
        [2, 2],
        [3, 4],
        [6, 9],
      ] as const;
      expect(seqs(await store.read(child, { within, limit: 100 }))).toEqual([2, 3, 4, 6, 7]);
      expect(seqs(await store.read(child, { within, limit: 100, order: 'descending' }))).toEqual([7, 6, 4, 3, 2]);
      expect(seqs(await store.read(child, { within, after: 3, upTo: 6, limit: 100 }))).toEqual([4, 6]);
      expect(seqs(await store.read(child, { within, limit: 2 }))).toEqual([2, 3]);
      expect(seqs(await store.read(child, { within, limit: 100, maxBytes: 1 }))).toEqual([2]);
      expect(await store.read(child, { within: [], limit: 100 })).toEqual([]);
      const beyond = [
        [2, 2],
        [4, 99],
      ] as const;
      expect(seqs(await store.read(parent, { within: beyond, limit: 3, order: 'descending' }))).toEqual([5, 4, 2]);
      expect(seqs(await store.read(parent, { within: beyond, limit: 3 }))).toEqual([2, 4, 5]);
    });

    test('[FORK1] a fork at a point that does not exist is reported as missing and creates nothing', async () => {
      const { store } = setup;
      const parent = await rootOfTurns(store, 2);
      const child = newKey(parent.workspace);
      for (const seq of [0, 4, 99]) {
        const creates = { parent: { session: parent.session, seq } };
        expect(await append(store, child, [forked(parent, 1)], { creates })).toEqual({ outcome: 'missing' });
      }
      expect(await store.head(child)).toBeUndefined();
      expect(await store.family(parent)).toHaveLength(1);
    });

    test('[FORK1] a fork can be forked at its own events and at inherited ones', async () => {
      const { store } = setup;
      const root = await rootOfTurns(store, 5);
      const middle = await forkAt(store, root, 4);
      await mustAppend(store, middle, [rawText('m6'), rawText('m7')]);
      const late = await forkAt(store, middle, 6);
      const early = await forkAt(store, middle, 2);
      const edge = await forkAt(store, middle, 4);
      const owners = async (key: SessionKey) => (await expectSound(store, key)).map(({ session }) => session);
      const { session: r } = root;
      const { session: m } = middle;
      expect(await owners(late)).toEqual([r, r, r, r, m, m, late.session]);
      expect(await owners(early)).toEqual([r, r, early.session]);
      expect(await owners(edge)).toEqual([r, r, r, r, edge.session]);
      for (const key of [late, early, edge]) {
        expect(await mustHead(store, key)).toMatchObject({ root: r, parent: { session: m } });
      }
    });

    test("[FORK2] parent and child do not see each other's later events", async () => {
      const { other } = setup;
      const parent = await rootOfTurns(setup.store, 3);
      const child = await forkAt(setup.store, parent, 3);
      const before = await readAll(setup.store, child);
      await mustAppend(other, parent, [message('parent 4', 'next'), message('parent 5', 'next')]);
      expect(await readAll(setup.store, child)).toEqual(before);
      const parentBefore = await readAll(other, parent);
      await mustAppend(setup.store, child, [message('child', 'next'), rawText('child')]);
      expect(await readAll(other, parent)).toEqual(parentBefore);
      expect(await turnsOf(setup.store, child)).toEqual([
        [1, 2],
        [2, 3],
        [3, 5],
      ]);
      expect(await turnsOf(setup.store, parent)).toEqual([
        [1, 2],
        [2, 3],
        [3, 4],
        [4, 5],
        [5, 6],
      ]);
    });

    test('[FORK1] reads in pages and both directions, turns, head and family work a hundred forks deep', async () => {
      const { store } = setup;
      const root = await rootOfTurns(store, 1);
      const line = [root];
      for (let depth = 1; depth <= 100; depth++) {
        const child = newKey(root.workspace);
        const parent = line.at(-1)!;
        const first = forked(parent, depth * 2, { lastTurn: depth, messages: depth });
        const creates = { parent: { session: parent.session, seq: depth * 2 } };
        await mustAppend(store, child, [first, message(`depth ${depth}`, 'next')], { creates });
        line.push(child);
      }
      const deepest = line.at(-1)!;
      const events = await expectSound(store, deepest);
      expect(events).toHaveLength(202);
      expect(events.map(({ session }) => session)).toEqual(line.flatMap(({ session }) => [session, session]));
      for (const limit of [1, 7, 50, 201]) expect(await readAll(store, deepest, limit)).toEqual(events);
      const backwards = await store.read(deepest, { after: 90, upTo: 111, limit: 500, order: 'descending' });
      expect(seqs(backwards)).toEqual(Array.from({ length: 21 }, (_, i) => 111 - i));
      expect(backwards.toReversed()).toEqual(events.slice(90, 111));
      const turns = await store.turnStarts(deepest, { from: 1, limit: 1_000 });
      expect(turns).toEqual(Array.from({ length: 101 }, (_, i) => ({ turn: i + 1, seq: (i + 1) * 2 })));
      expect(await store.turnStarts(deepest, { from: 40, limit: 3 })).toEqual(turns.slice(39, 42));
      expect((await mustHead(store, deepest)).root).toBe(root.session);
      expect((await store.family(line[50]!)).map(({ session }) => session)).toEqual(line.map(({ session }) => session));
    });

    test('[FORK1, LOG9, LOG11] maxBytes and limit apply to a whole page, even if its events belong to several ancestors', async () => {
      const { store } = setup;
      const root = newKey();
      await openSession(store, root);
      await mustAppend(store, root, [raw(noise(100, 1)), raw(noise(100, 2)), raw(noise(100, 3))]);
      const child = newKey(root.workspace);
      await forkSession(store, root, 3, child);
      await mustAppend(store, child, [raw(noise(30_000, 4)), raw(noise(100, 5))]);
      const [, , , first] = await readAll(store, child);
      const forkBytes = first!.body.kind === 'bytes' ? first!.body.bytes.length : 0;
      const read = async (after: number, maxBytes: number) =>
        seqs(await store.read(child, { after, limit: 100, maxBytes }));
      expect(await read(1, 200 + forkBytes)).toEqual([2, 3, 4]);
      expect(await read(1, 199 + forkBytes)).toEqual([2, 3]);
      expect(await read(1, 30_200 + forkBytes)).toEqual([2, 3, 4, 5]);
      expect(await read(4, 100)).toEqual([5]);
      const down = await store.read(child, { upTo: 4, limit: 100, maxBytes: forkBytes + 100, order: 'descending' });
      expect(seqs(down)).toEqual([4, 3]);
    });

    test('[LOG5] a fork made by a clock that is behind gets the time of the event at its fork point', async () => {
      const { store } = setup;
      const parent = newKey();
      await openSession(store, parent, { at: 9_000 });
      const child = newKey(parent.workspace);
      const { events } = await forkSession(store, parent, 1, child, { at: 1_000 });
      expect(events[0]!.at).toBe(9_000);
    });

    test('[FORK4] a session can be forked at every event, in any status, even at an event that a rewind left behind', async () => {
      const { store } = setup;
      const parent = await rootOfTurns(store, 3);
      await mustAppend(store, parent, [event('session.rewound', { to: 2, messages: 1 }, 1)], { raisesEpoch: true });
      await mustAppend(store, parent, [event('session.closed', {}), event('session.archived', {})]);
      for (let seq = 1; seq <= 7; seq++) {
        const child = await forkAt(store, parent, seq);
        expect(await expectSound(store, child)).toHaveLength(seq + 1);
      }
    });

    test('[FORK2] forks made while the parent grows see only the events up to their fork point', async () => {
      const { other } = setup;
      const parent = await rootOfTurns(setup.store, 2);
      const growing = Array.from({ length: 30 }, () => mustAppend(setup.store, parent, [rawText('more')]));
      const forks = await Promise.all(Array.from({ length: 10 }, () => forkAt(other, parent, 3)));
      await Promise.all(growing);
      for (const child of forks) expect(await expectSound(other, child)).toHaveLength(4);
      expect(await expectSound(other, parent)).toHaveLength(33);
    });
  });

const turnsOf = async (store: Store, key: SessionKey) =>
  (await store.turnStarts(key, { from: 0, limit: 100 })).map(({ turn, seq }) => [turn, seq]);
