import { describe, expect, test } from 'vitest';
import { inlinePayloadBytes } from '../../core/ports/store.ts';
import { blobHash } from '../../core/session/chain.ts';
import { type ContractSetup, newKey } from './contract-setup.ts';
import { noise, raw, rawText } from './new-events.ts';
import { expectSound, firstBad, mustAppend, openSession, payloadOf } from './session-log.ts';

const same = (a: Uint8Array, b: Uint8Array | undefined): boolean => b !== undefined && Buffer.from(a).equals(b);

export const describeBlobs = (setup: ContractSetup) =>
  describe('blobs', () => {
    test('[BLOB1] a payload over 16 KiB is kept as a blob and read back whole; a smaller one is not', async () => {
      const { store, tamper } = setup;
      const key = newKey();
      await openSession(store, key);
      const [fits, spills] = [noise(inlinePayloadBytes, 1), noise(inlinePayloadBytes + 1, 2)];
      await mustAppend(store, key, [raw(fits)]);
      expect(await tamper.countPieces(key.workspace)).toBe(0);
      expect(await store.readBlob(key.workspace, blobHash(fits))).toBeUndefined();
      await mustAppend(store, key, [raw(spills)]);
      expect(await tamper.countPieces(key.workspace)).toBe(1);
      expect(same(spills, await store.readBlob(key.workspace, blobHash(spills)))).toBe(true);
      const [, , third] = await expectSound(store, key);
      expect(same(spills, payloadOf(third!))).toBe(true);
    });

    test('[BLOB1] a payload of some megabytes is read back whole, also after a restart', async () => {
      const key = newKey();
      const first = await setup.open();
      await openSession(first, key);
      const large = noise(5 * 1024 * 1024, 3);
      await mustAppend(first, key, [raw(large), rawText('after')]);
      await first.close();
      const events = await expectSound(await setup.open(), key);
      expect(same(large, payloadOf(events[1]!))).toBe(true);
    });

    test('[BLOB1] an event whose blob is gone is told as damaged, and the others are read', async () => {
      const { store, tamper } = setup;
      const key = newKey();
      await openSession(store, key);
      const payload = noise(20_000, 4);
      await mustAppend(store, key, [rawText('a'), raw(payload), rawText('b')]);
      await tamper.removeBlob(key.workspace, blobHash(payload));
      const events = await setup.other.read(key, { limit: 10 });
      expect(events.map(({ body }) => body.kind)).toEqual(['bytes', 'bytes', 'damaged', 'bytes']);
      expect(await firstBad(setup.other, key)).toBe(3);
    });

    test('[BLOB2] a blob that was damaged is put right by the next append of the same bytes', async () => {
      const { store, tamper } = setup;
      const key = newKey();
      await openSession(store, key);
      const bytes = noise(20_000, 6);
      await mustAppend(store, key, [raw(bytes)]);
      await tamper.changePayload(key, 2);
      expect(await firstBad(setup.other, key)).toBe(2);
      await mustAppend(store, key, [raw(bytes)]);
      const events = await expectSound(setup.other, key);
      expect(events.slice(1).every((event) => same(bytes, payloadOf(event)))).toBe(true);
    });

    test('[BLOB2] the same bytes are kept once in a workspace, however often they come', async () => {
      const { store, tamper } = setup;
      const [one, two] = [newKey(), newKey()];
      const sibling = newKey(one.workspace);
      for (const key of [one, two, sibling]) await openSession(store, key);
      const bytes = noise(30_000, 5);
      await mustAppend(store, one, [raw(bytes), raw(bytes)]);
      await mustAppend(store, sibling, [raw(bytes)]);
      await Promise.all([1, 2, 3].map(() => mustAppend(store, one, [raw(bytes), raw(bytes)])));
      expect(await tamper.countPieces(one.workspace)).toBe(1);
      expect(await tamper.countPieces(two.workspace)).toBe(0);
      expect(await store.readBlob(two.workspace, blobHash(bytes))).toBeUndefined();
      await mustAppend(store, two, [raw(bytes)]);
      await setup.tamper.removeBlob(one.workspace, blobHash(bytes));
      const events = await expectSound(setup.other, two);
      expect(same(bytes, payloadOf(events[1]!))).toBe(true);
    });

    test('[BLOB2] two stores that keep the same bytes at once keep them once', async () => {
      const { other } = setup;
      const key = newKey();
      const sibling = newKey(key.workspace);
      for (const each of [key, sibling]) await openSession(setup.store, each);
      for (let round = 0; round < 10; round++) {
        const bytes = noise(17_000, 100 + round);
        await Promise.all([mustAppend(setup.store, key, [raw(bytes)]), mustAppend(other, sibling, [raw(bytes)])]);
      }
      expect(await setup.tamper.countPieces(key.workspace)).toBe(10);
    });
  });
