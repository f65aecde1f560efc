import { describe, expect, test } from 'vitest';
import type { Store } from '../../../core/ports/store.ts';
import { blobHash } from '../../../core/session/events/chain.ts';
import { hexOf } from '../../memory-database.ts';
import { copiesOf, sendCopies } from '../bundles/session-copies.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { claimOf, presenceOf } from '../queue/work-events.ts';
import { idempotencyKey, noise, rawText } from './new-events.ts';
import { append, expectSound, mustAppend, mustHead, openSession, readAll, textOf } from './session-log.ts';

export const describeSharing = (setup: ContractSetup) =>
  describe('several stores on one database', () => {
    test('[ST4, LOG1] when facts from two stores race, all of them land, densely numbered and chained', async () => {
      const key = newKey();
      const stores = [setup.store, setup.other];
      await openSession(setup.store, key);
      const texts = Array.from({ length: 400 }, (_, i) => `fact ${i}`);
      const appended = await Promise.all(
        texts.map((text, i) => mustAppend(stores[i % 2]!, key, [rawText(text)], { key: idempotencyKey(text, text) })),
      );
      expect(new Set(appended.map(({ head }) => head.seq)).size).toBe(400);
      const events = await expectSound(setup.store, key);
      expect(events.slice(1).map(textOf).sort()).toEqual(texts.toSorted());
      for (const [i, { events: own }] of appended.entries()) expect(textOf(events[own[0]!.seq - 1]!)).toBe(texts[i]);
    });

    test('[ST4, LOG1, LOG4] when decisions from two stores race, exactly one lands at each seq', async () => {
      const key = newKey();
      const stores = [setup.store, setup.other];
      await openSession(setup.store, key);
      for (let seq = 1; seq <= 40; seq++) {
        const outcomes = await Promise.all(
          [0, 1, 2, 3].map((i) => append(stores[i % 2]!, key, [rawText(`${i}`)], { onHead: seq })),
        );
        const won = outcomes.filter(({ outcome }) => outcome === 'appended');
        expect(won).toHaveLength(1);
        for (const lost of outcomes) {
          if (lost.outcome !== 'appended') expect(lost).toEqual({ outcome: 'conflict', head: seq + 1 });
        }
      }
      expect(await expectSound(stores[1]!, key)).toHaveLength(41);
    });

    test('[ST4, LOG4] writers that retry their decision after a conflict all succeed', async () => {
      const key = newKey();
      const stores = [setup.store, setup.other];
      await openSession(setup.store, key);
      const decideAgain = async (store: Store, text: string): Promise<void> => {
        for (let onHead = (await mustHead(store, key)).seq; ; ) {
          const outcome = await append(store, key, [rawText(text)], { onHead });
          if (outcome.outcome === 'appended') return;
          if (outcome.outcome !== 'conflict') throw new Error(outcome.outcome);
          onHead = outcome.head;
        }
      };
      await Promise.all([0, 1, 2, 3, 4, 5].map((i) => decideAgain(stores[i % 2]!, `${i}`)));
      const texts = (await expectSound(setup.store, key)).slice(1).map(textOf);
      expect(texts.toSorted()).toEqual(['0', '1', '2', '3', '4', '5']);
    });

    test('[ST4] an append that one store acknowledged is immediately visible to the other', async () => {
      const { other } = setup;
      const key = newKey();
      await openSession(setup.store, key);
      for (let i = 0; i < 20; i++) {
        const { head } = await mustAppend(i % 2 ? setup.store : other, key, [rawText(`${i}`)]);
        const reader = i % 2 ? other : setup.store;
        expect(await mustHead(reader, key)).toEqual(head);
        expect((await reader.read(key, { after: head.seq - 1, limit: 5 })).map(textOf)).toEqual([`${i}`]);
      }
    });
  });

export const describeClosing = (setup: ContractSetup) =>
  describe('close', () => {
    test('[ST3] close waits for calls in flight', async () => {
      const store = await setup.open();
      const key = newKey();
      await openSession(store, key);
      let settled = 0;
      const under = Array.from({ length: 20 }, (_, i) =>
        mustAppend(store, key, [rawText(`${i}`)]).then(() => {
          settled += 1;
        }),
      );
      const reading = store.read(key, { limit: 1 }).then((events) => {
        settled += 1;
        return events;
      });
      await store.close();
      await new Promise(setImmediate);
      expect(settled).toBe(21);
      await Promise.all(under);
      expect(await reading).toHaveLength(1);
      expect(await expectSound(setup.other, key)).toHaveLength(21);
    });

    test('[ST3] close may be called twice, even concurrently, and does not affect other stores', async () => {
      const { other } = setup;
      const store = await setup.open();
      const key = newKey();
      await openSession(store, key);
      await Promise.all([store.close(), store.close()]);
      await store.close();
      await mustAppend(other, key, [rawText('a')]);
      expect(await readAll(other, key)).toHaveLength(2);
    });

    test('[ST3] every call after close fails with RUNTIME_CLOSED', async () => {
      const store = await setup.open();
      const key = newKey();
      await openSession(store, key);
      const copies = await copiesOf(store, [key]);
      await store.close();
      const calls: readonly (() => Promise<unknown>)[] = [
        () => append(store, key, [rawText('a')]),
        () => store.head(key),
        () => store.list(key.workspace, { limit: 1 }),
        () => store.read(key, { limit: 1 }),
        () => store.turnStarts(key, { from: 0, limit: 1 }),
        () => store.family(key),
        () => store.readBlob(key.workspace, hexOf(blobHash(noise(1, 1)))),
        () => store.looseBlobs(key.workspace, { limit: 1 }),
        () => store.removeBlobs(key.workspace, [], 1),
        () => store.now(),
        () => store.findBlobEvents(key.workspace, { limit: 1 }),
        () => store.putSnapshot(key, { seq: 1, foldVersion: 1, parts: {} }),
        () => store.snapshot(key, { seq: 1, foldVersion: 1 }),
        () => store.keys(key),
        () => store.importCopies(newWorkspace(), sendCopies(copies)),
        () => store.findWork(key.workspace, 1),
        () => store.claim(claimOf('w1')),
        () => store.touch(presenceOf('w1'), { held: [], forMs: 1 }),
        () => store.finish(key, { worker: 'w1', seq: 1 }),
        () => store.release(key, { worker: 'w1' }),
        () => store.leave('w1'),
        () => store.workers(),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
      const nothing = () => undefined;
      const watches = [
        () => store.watch(key, nothing),
        () => store.watchWork(key.workspace, nothing),
        () => store.watchWorkspace(key.workspace, nothing),
        () => store.hearNotes(nothing, nothing),
      ];
      store.sendNote(key, 'ignored');
      for (const watch of watches) expect(watch).toThrow(expect.objectContaining({ code: 'RUNTIME_CLOSED' }));
      expect(await readAll(setup.other, key)).toHaveLength(1);
    });
  });
