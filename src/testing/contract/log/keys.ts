import { describe, expect, test } from 'vitest';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { idempotencyKey, message, opened, rawText } from './new-events.ts';
import { append, expectSound, forkSession, mustAppend, openSession } from './session-log.ts';

export const describeKeys = (setup: ContractSetup) =>
  describe('idempotency keys', () => {
    const key1 = idempotencyKey('k1', 'body');

    test('[KEY1] the same key with the same body returns the first answer and writes nothing', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      await mustAppend(store, key, [rawText('a'), rawText('b')], { key: key1 });
      await mustAppend(store, key, [rawText('c')]);
      const again = await append(store, key, [rawText('other bytes')], { key: key1 });
      expect(again).toEqual({ outcome: 'duplicate', seq: 2, count: 2 });
      expect(await expectSound(store, key)).toHaveLength(4);
      expect(await store.keys(key)).toEqual([{ ...key1, seq: 2, count: 2 }]);
    });

    test('[KEY1] a key still deduplicates after a restart', async () => {
      const key = newKey();
      const first = await setup.open();
      await openSession(first, key);
      await mustAppend(first, key, [rawText('a')], { key: key1 });
      await first.close();
      const second = await setup.open();
      expect(await append(second, key, [rawText('a')], { key: key1 })).toEqual({
        outcome: 'duplicate',
        seq: 2,
        count: 1,
      });
      expect(await expectSound(second, key)).toHaveLength(2);
    });

    test('[KEY1] only one of several concurrent appends with one key lands, through one store or two, and the others report its position', async () => {
      const key = newKey();
      const { other } = setup;
      await openSession(setup.store, key);
      for (let round = 0; round < 10; round++) {
        const used = idempotencyKey(`k${round}`, 'body');
        const stores = [setup.store, other, setup.store, other];
        const outcomes = await Promise.all(
          stores.map((store) => append(store, key, [rawText('a'), rawText('b')], { key: used })),
        );
        const landed = outcomes.filter(({ outcome }) => outcome === 'appended');
        const repeated = outcomes.filter(({ outcome }) => outcome === 'duplicate');
        expect([landed.length, repeated.length]).toEqual([1, 3]);
        for (const outcome of repeated) {
          expect(outcome).toEqual({ outcome: 'duplicate', seq: 2 + round * 2, count: 2 });
        }
      }
      expect(await expectSound(other, key)).toHaveLength(21);
    });

    test('[KEY1] a key deduplicates regardless of the current head, status and epoch, even for the append that created the session', async () => {
      const { store } = setup;
      const key = newKey();
      const creation = { creates: {}, key: key1 };
      await mustAppend(store, key, [opened()], creation);
      await mustAppend(store, key, [message('a')], { raisesEpoch: true });
      const again = { outcome: 'duplicate', seq: 1, count: 1 };
      expect(await append(store, key, [opened()], creation)).toEqual(again);
      expect(await append(store, key, [opened()], { key: key1, onHead: 1 })).toEqual(again);
      expect(await append(store, key, [opened()], { key: key1, whileStatus: ['open'] })).toEqual(again);
      expect(await append(store, key, [opened()], { key: key1, writer: { kind: 'run', epoch: 0, claim: '' } })).toEqual(
        again,
      );
      expect(await expectSound(store, key)).toHaveLength(2);
    });

    test('[KEY1] a rejected append leaves its key unused', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      expect(await append(store, key, [rawText('a')], { key: key1, onHead: 9 })).toMatchObject({ outcome: 'conflict' });
      await mustAppend(store, key, [rawText('a')], { key: key1, onHead: 1 });
      expect(await store.keys(key)).toEqual([{ ...key1, seq: 2, count: 1 }]);
    });

    test('[KEY2] the same key with another body is rejected and writes nothing', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      await mustAppend(store, key, [rawText('a')], { key: key1 });
      const other = idempotencyKey('k1', 'another body');
      expect(await append(store, key, [rawText('b')], { key: other })).toEqual({ outcome: 'key-reused' });
      const racing = idempotencyKey('k2', 'one');
      const sent = [racing, idempotencyKey('k2', 'two')].map((each) =>
        append(store, key, [rawText('c')], { key: each }),
      );
      expect((await Promise.all(sent)).map(({ outcome }) => outcome).sort()).toEqual(['appended', 'key-reused']);
      expect(await expectSound(store, key)).toHaveLength(3);
    });

    test('[KEY3] a fork does not inherit keys, and sessions do not share them', async () => {
      const { store } = setup;
      const parent = newKey();
      await openSession(store, parent);
      await mustAppend(store, parent, [rawText('a')], { key: key1 });
      const child = newKey(parent.workspace);
      await forkSession(store, parent, 2, child);
      expect(await store.keys(child)).toEqual([]);
      await mustAppend(store, child, [rawText('b')], { key: key1 });
      expect(await store.keys(child)).toEqual([{ ...key1, seq: 4, count: 1 }]);
      expect(await store.keys(parent)).toEqual([{ ...key1, seq: 2, count: 1 }]);
    });

    test('[KEY1] keys are listed in the order of their events, and any text can be a key', async () => {
      const { store } = setup;
      const key = newKey(newWorkspace());
      await openSession(store, key);
      const texts = ['z', 'a', "quote ' and %", 'Ünïcödé ☃', 'Z', 'k'.repeat(255)];
      for (const text of texts) await mustAppend(store, key, [rawText(text)], { key: idempotencyKey(text, text) });
      expect((await store.keys(key)).map((stored) => stored.key)).toEqual(texts);
      for (const [index, text] of texts.entries()) {
        expect(await store.keys(key, text)).toEqual([{ ...idempotencyKey(text, text), seq: index + 2, count: 1 }]);
      }
      expect(await store.keys(key, 'unused')).toEqual([]);
    });
  });
