import { describe, expect, test } from 'vitest';
import { inlinePayloadBytes } from '../../../core/ports/store.ts';
import { blobHash } from '../../../core/session/events/chain.ts';
import { hexOf } from '../../memory-database.ts';
import { type ContractSetup, newKey } from '../contract-setup.ts';
import { noise, raw, rawText } from '../log/new-events.ts';
import { expectSound, firstBad, mustAppend, openSession, payloadOf } from '../log/session-log.ts';

const same = (a: Uint8Array, b: Uint8Array | undefined): boolean => b !== undefined && Buffer.from(a).equals(b);

const blobOf = (bytes: Uint8Array) => ({ hash: hexOf(blobHash(bytes)), bytes });

export const describeBlobs = (setup: ContractSetup) =>
  describe('blobs', () => {
    test('[BLOB1] a payload over 16 KiB is stored as a blob and read back completely; a smaller one is stored inline', async () => {
      const { store, tamper } = setup;
      const key = newKey();
      await openSession(store, key);
      const [fits, spills] = [noise(inlinePayloadBytes, 1), noise(inlinePayloadBytes + 1, 2)];
      await mustAppend(store, key, [raw(fits)]);
      expect(await tamper.countPieces(key.workspace)).toBe(0);
      expect(await store.readBlob(key.workspace, hexOf(blobHash(fits)))).toBeUndefined();
      await mustAppend(store, key, [raw(spills)]);
      expect(await tamper.countPieces(key.workspace)).toBe(1);
      expect(same(spills, await store.readBlob(key.workspace, hexOf(blobHash(spills))))).toBe(true);
      const [, , third] = await expectSound(store, key);
      expect(same(spills, payloadOf(third!))).toBe(true);
    });

    test('[BLOB1] a payload of several megabytes is read back completely, even after a restart', async () => {
      const key = newKey();
      const first = await setup.open();
      await openSession(first, key);
      const large = noise(5 * 1024 * 1024, 3);
      await mustAppend(first, key, [raw(large), rawText('after')]);
      await first.close();
      const events = await expectSound(await setup.open(), key);
      expect(same(large, payloadOf(events[1]!))).toBe(true);
    });

    test('[LOG9] concurrent readers of a blob each get their own bytes', async () => {
      const { store } = setup;
      const { workspace } = newKey();
      const blob = blobOf(noise(20_000, 11));
      await store.putBlobs(workspace, [blob]);
      const read = await Promise.all(Array.from({ length: 40 }, () => store.readBlob(workspace, blob.hash)));
      for (const bytes of read) {
        expect(same(blob.bytes, bytes)).toBe(true);
        bytes!.fill(0x78);
      }
    });

    test('[BLOB1] an event whose blob is missing is reported as damaged, and the others are readable', async () => {
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

    test('[BLOB2] the next append of the same bytes repairs a damaged blob', async () => {
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

    test('[BLOB2] equal bytes are stored once per workspace, however often they are appended', async () => {
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
      expect(await store.readBlob(two.workspace, hexOf(blobHash(bytes)))).toBeUndefined();
      await mustAppend(store, two, [raw(bytes)]);
      await setup.tamper.removeBlob(one.workspace, blobHash(bytes));
      const events = await expectSound(setup.other, two);
      expect(same(bytes, payloadOf(events[1]!))).toBe(true);
    });

    test('[BLOB2] two stores that write equal bytes concurrently store them once', async () => {
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

    test('[BLOB3] blobs are put and read by hash, only in their workspace, even after a restart', async () => {
      const { workspace } = newKey();
      const elsewhere = newKey().workspace;
      const first = await setup.open();
      const blobs = [blobOf(noise(100_000, 6)), blobOf(noise(10, 7)), blobOf(new Uint8Array())];
      await first.putBlobs(workspace, blobs);
      await first.putBlobs(workspace, []);
      await first.close();
      for (const { hash, bytes } of blobs) {
        expect(same(bytes, await setup.other.readBlob(workspace, hash))).toBe(true);
        expect(await setup.other.readBlob(elsewhere, hash)).toBeUndefined();
      }
      const missing = blobOf(noise(11, 8)).hash;
      expect(await setup.store.hasBlobs(workspace, [missing, blobs[1]!.hash])).toEqual(new Set([blobs[1]!.hash]));
      expect(await setup.store.hasBlobs(elsewhere, [blobs[1]!.hash])).toEqual(new Set());
      expect(await setup.store.hasBlobs(workspace, [])).toEqual(new Set());
    });

    test('[BLOB3] a blob whose bytes do not match its hash is rejected, and the others of its batch are not stored', async () => {
      const { workspace } = newKey();
      const [good, other] = [blobOf(noise(10, 50)), blobOf(noise(10, 51))];
      const wrong = setup.store.putBlobs(workspace, [good, { ...other, bytes: good.bytes }]);
      await expect(wrong).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      expect(await setup.store.hasBlobs(workspace, [good.hash, other.hash])).toEqual(new Set());
    });

    test('[BLOB4] only blobs that no payload and no snapshot needs are listed as loose, in pages, and can be removed', async () => {
      const { store, other } = setup;
      const key = newKey();
      await openSession(store, key);
      const [payload, part] = [noise(30_000, 9), noise(30_000, 10)];
      await mustAppend(store, key, [raw(payload)]);
      await store.putSnapshot(key, { seq: 2, foldVersion: 1, parts: { big: part } });
      const loose = Array.from({ length: 5 }, (_, at) => blobOf(noise(1000, 20 + at))).sort((a, b) =>
        a.hash < b.hash ? -1 : 1,
      );
      await other.putBlobs(key.workspace, loose);
      const page = await store.looseBlobs(key.workspace, { limit: 3 });
      const rest = await store.looseBlobs(key.workspace, { limit: 3, after: page[2]!.hash });
      expect([...page, ...rest]).toEqual(loose.map(({ hash }) => ({ hash, size: 1000, usedAt: expect.any(Number) })));
      const usedBefore = (await store.now()) + 120_000;
      const all = [blobHash(payload), blobHash(part)].map(hexOf).concat(loose.map(({ hash }) => hash));
      expect((await other.removeBlobs(key.workspace, all, usedBefore)).toSorted()).toEqual(
        loose.map(({ hash }) => hash),
      );
      expect(await store.removeBlobs(key.workspace, all, usedBefore)).toEqual([]);
      await expectSound(store, key);
      expect((await store.snapshot(key, { seq: 2, foldVersion: 1 }))?.parts.big).toEqual(part);
    });

    test("[BLOB4] a blob's age counts from when it was last put, stored for a payload, or requested", async () => {
      const { store, tamper } = setup;
      const key = newKey();
      await openSession(store, key);
      const blobs = [1, 2, 3, 4].map((at) => blobOf(noise(20_000, 40 + at)));
      await store.putBlobs(key.workspace, blobs);
      await tamper.ageBlobs(key.workspace, 2 * 3_600_000);
      const usedBefore = (await store.now()) - 3_600_000;
      const [again, asked, spilled, left] = blobs.map(({ hash }) => hash);
      await store.putBlobs(key.workspace, [blobs[0]!]);
      await store.hasBlobs(key.workspace, [asked!]);
      await mustAppend(store, key, [raw(blobs[2]!.bytes)]);
      const loose = await store.looseBlobs(key.workspace, { limit: 9 });
      expect(loose.filter(({ usedAt }) => usedAt < usedBefore).map(({ hash }) => hash)).toEqual([left]);
      const all = [again!, asked!, spilled!, left!];
      expect(await store.removeBlobs(key.workspace, all, usedBefore)).toEqual([left]);
      await tamper.ageBlobs(key.workspace, 40_000);
      const asking = await store.now();
      await store.hasBlobs(key.workspace, [asked!]);
      expect(await store.removeBlobs(key.workspace, [asked!], asking)).toEqual([]);
    });
  });
