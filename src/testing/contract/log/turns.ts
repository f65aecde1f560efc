import { describe, expect, test } from 'vitest';
import { type ContractSetup, newKey } from '../contract-setup.ts';
import { event, forked, message, opened, rawText } from './new-events.ts';
import { expectSound, forkSession, mustAppend, mustHead, openSession, readAll } from './session-log.ts';

export const describeTurns = (setup: ContractSetup) =>
  describe('turns', () => {
    test("[LOG6] 'next' opens a turn, 'current' repeats the turn of the previous event, and a number names any turn", async () => {
      const { store } = setup;
      const key = newKey();
      await mustAppend(store, key, [opened(), message('a', 'next'), message('b')], { creates: {} });
      await mustAppend(store, key, [message('c'), message('d', 'next'), message('e', 'next'), rawText('f', 1)]);
      await mustAppend(store, key, [rawText('g'), message('h', 'next')]);
      const events = await expectSound(store, key);
      expect(events.map(({ turn }) => turn)).toEqual([0, 1, 1, 1, 2, 3, 1, 1, 4]);
      expect(events.filter(({ opensTurn }) => opensTurn).map(({ seq }) => seq)).toEqual([2, 5, 6, 9]);
      expect((await mustHead(store, key)).summary).toMatchObject({ turn: 4, lastTurn: 4 });
    });

    test('[LOG6] a turn after a rewind gets a number that was never used', async () => {
      const { store } = setup;
      const key = newKey();
      await mustAppend(store, key, [opened(), message('a', 'next'), message('b', 'next'), message('c', 'next')], {
        creates: {},
      });
      const rewound = event('session.rewound', { to: 2, messages: 1 }, 1);
      await mustAppend(store, key, [rewound], { onHead: 4, raisesEpoch: true });
      expect((await mustHead(store, key)).summary).toMatchObject({ turn: 1, lastTurn: 3 });
      await mustAppend(store, key, [message('d'), message('e', 'next')]);
      expect((await expectSound(store, key)).map(({ turn }) => turn)).toEqual([0, 1, 2, 3, 1, 1, 4]);
    });

    test('[LOG6] a fork continues the turn numbers up to its fork point, even in its first append', async () => {
      const { store } = setup;
      const parent = newKey();
      await mustAppend(store, parent, [opened(), message('a', 'next'), message('b', 'next'), message('c', 'next')], {
        creates: {},
      });
      const early = newKey(parent.workspace);
      await forkSession(store, parent, 3, early, { about: { lastTurn: 2, messages: 2 } });
      await mustAppend(store, early, [message('d', 'next')]);
      expect((await expectSound(store, early)).map(({ turn }) => turn).slice(-1)).toEqual([3]);
      const atOnce = newKey(parent.workspace);
      const first = forked(parent, 4, { lastTurn: 3, messages: 3 });
      await mustAppend(store, atOnce, [first, message('e', 'next')], {
        creates: { parent: { session: parent.session, seq: 4 } },
      });
      expect((await expectSound(store, atOnce)).map(({ turn }) => turn).slice(-1)).toEqual([4]);
    });

    test('[LOG6] turns opened by two stores concurrently all get distinct numbers', async () => {
      const key = newKey();
      const { other } = setup;
      await openSession(setup.store, key);
      const racing = Array.from({ length: 40 }, (_, i) =>
        mustAppend(i % 2 ? other : setup.store, key, [message(`${i}`, 'next')]),
      );
      await Promise.all(racing);
      const turns = (await expectSound(setup.store, key)).map(({ turn }) => turn);
      expect(turns).toEqual(Array.from({ length: 41 }, (_, i) => i));
    });

    test('[LOG6] turn starts are listed in order, from a given number on, in pages', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      for (let i = 0; i < 7; i++) await mustAppend(store, key, [message(`${i}`, 'next'), rawText('x')]);
      const all = await store.turnStarts(key, { from: 0, limit: 100 });
      expect(all).toEqual([1, 2, 3, 4, 5, 6, 7].map((turn) => ({ turn, seq: turn * 2 })));
      expect(await store.turnStarts(key, { from: 3, limit: 2 })).toEqual(all.slice(2, 4));
      expect(await store.turnStarts(key, { from: 8, limit: 2 })).toEqual([]);
      const starts = (await readAll(store, key)).filter(({ opensTurn }) => opensTurn);
      expect(starts.map(({ turn, seq }) => ({ turn, seq }))).toEqual(all);
    });
  });
