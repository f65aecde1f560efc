import { describe, expect, test } from 'vitest';
import { inlinePayloadBytes, type SessionKey, type Store } from '../../../core/ports/store.ts';
import { blobHash } from '../../../core/session/events/chain.ts';
import { hexOf } from '../../memory-database.ts';
import { type ContractSetup, newKey } from '../contract-setup.ts';
import { noise, raw, rawText } from './new-events.ts';
import { mustAppend, mustHead, openSession, payloadOf, readAll, seqs } from './session-log.ts';

/** A session with `count` more events, each of `size` incompressible bytes. */
const withEvents = async (store: Store, count: number, size: number): Promise<SessionKey> => {
  const key = newKey();
  await openSession(store, key);
  const [first, ...rest] = Array.from({ length: count }, (_, i) => raw(noise(size, i)));
  await mustAppend(store, key, [first!, ...rest]);
  return key;
};

const compressible = (size: number): Uint8Array =>
  new TextEncoder().encode('{"a":"same"},'.repeat(size)).slice(0, size);

export const describeReads = (setup: ContractSetup) =>
  describe('read', () => {
    test('[LOG9] payload bytes of every size and content are read back exactly', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      const sizes = [0, 1, 2, 399, 400, 401, 5_000, inlinePayloadBytes - 1, inlinePayloadBytes, inlinePayloadBytes + 1];
      const payloads = sizes.flatMap((size) => [noise(size, size), compressible(size), new Uint8Array(size)]);
      payloads.push(
        Uint8Array.from({ length: 256 }, (_, i) => i),
        noise(70_000, 7),
        compressible(300_000),
      );
      const [first, ...rest] = payloads.map((payload) => raw(payload));
      const { events } = await mustAppend(store, key, [first!, ...rest]);
      const read = (await readAll(setup.other, key, 7)).slice(1);
      expect(read).toHaveLength(payloads.length);
      for (const [i, payload] of payloads.entries()) {
        expect(Buffer.from(payload).equals(payloadOf(read[i]!)), `payload ${i} of ${payload.length} bytes`).toBe(true);
        expect(Buffer.from(read[i]!.hash).equals(events[i]!.hash)).toBe(true);
      }
    });

    test('[LOG9] a store does not modify the bytes it is given, and readers may modify the bytes it returns', async () => {
      const { store } = setup;
      const key = newKey();
      const { workspace } = key;
      await openSession(store, key);
      const sizes = [1, 200, 5_000, inlinePayloadBytes + 1];
      const given = sizes.map((size) => noise(size, size));
      const [first, ...rest] = given.map((payload) => raw(payload));
      const blobs = given.map((bytes) => ({ hash: hexOf(blobHash(bytes)), bytes }));
      const parts = Object.fromEntries(given.map((bytes) => [`${bytes.length}`, bytes]));
      await mustAppend(store, key, [first!, ...rest]);
      await store.putBlobs(workspace, blobs);
      await store.putSnapshot(key, { seq: 5, foldVersion: 1, parts });
      expect(given.every((bytes, index) => Buffer.from(bytes).equals(noise(sizes[index]!, sizes[index]!)))).toBe(true);
      const readBytes = async (): Promise<Record<string, readonly Uint8Array[]>> => ({
        payloads: (await readAll(store, key)).map(payloadOf),
        salts: (await readAll(store, key)).flatMap(({ body }) => (body.kind === 'bytes' ? [body.salt] : [])),
        hashes: (await readAll(store, key)).map(({ hash }) => hash),
        head: [(await mustHead(store, key)).hash],
        blobs: await Promise.all(blobs.map(async ({ hash }) => (await store.readBlob(workspace, hash))!)),
        parts: Object.values((await store.snapshot(key, { seq: 5, foldVersion: 1 }))!.parts),
      });
      const readDigests = async () =>
        Object.entries(await readBytes()).map(([name, pieces]) => [
          name,
          ...pieces.map((bytes) => hexOf(blobHash(bytes))),
        ]);
      const before = await readDigests();
      for (const pieces of Object.values(await readBytes())) for (const bytes of pieces) bytes.fill(0x78);
      expect(await readDigests()).toEqual(before);
    });

    test('[LOG9] the header is read back unchanged', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      const { events } = await mustAppend(store, key, [{ ...rawText('a', 3), type: 'other.kind_of', version: 42 }], {
        at: 1_789_000_000_123,
      });
      const [read] = await store.read(key, { after: 1, limit: 1 });
      expect(read).toEqual(events[0]);
      expect(read).toMatchObject({
        session: key.session,
        seq: 2,
        at: 1_789_000_000_123,
        turn: 3,
        type: 'other.kind_of',
        version: 42,
        actor: 'system',
      });
    });

    test('[LOG9] pages of any size yield the same sequence, in both directions', async () => {
      const { store } = setup;
      const key = await withEvents(store, 22, 10);
      const whole = await store.read(key, { limit: 1_000 });
      expect(seqs(whole)).toEqual(Array.from({ length: 23 }, (_, i) => i + 1));
      for (const limit of [1, 2, 5, 22, 23, 24]) {
        expect(await readAll(store, key, limit)).toEqual(whole);
        const backwards = [];
        for (let upTo = 23; upTo > 0; upTo = backwards.at(-1)!.seq - 1) {
          backwards.push(...(await store.read(key, { upTo, limit, order: 'descending' })));
        }
        expect(backwards.toReversed()).toEqual(whole);
      }
    });

    test('[LOG9] after is exclusive and upTo inclusive, in both directions; a range outside the log is empty', async () => {
      const { store } = setup;
      const key = await withEvents(store, 9, 10);
      const read = async (range: Omit<Parameters<Store['read']>[1], 'limit'>, limit = 100) =>
        seqs(await store.read(key, { ...range, limit }));
      expect(await read({ after: 3, upTo: 6 })).toEqual([4, 5, 6]);
      expect(await read({ after: 3, upTo: 6, order: 'ascending' }, 2)).toEqual([4, 5]);
      expect(await read({ after: 3, upTo: 6, order: 'descending' })).toEqual([6, 5, 4]);
      expect(await read({ after: 3, upTo: 6, order: 'descending' }, 2)).toEqual([6, 5]);
      expect(await read({ after: 8 })).toEqual([9, 10]);
      expect(await read({ upTo: 2 })).toEqual([1, 2]);
      expect(await read({ order: 'descending' }, 3)).toEqual([10, 9, 8]);
      expect(await read({ upTo: 1_000 }, 100)).toHaveLength(10);
      expect(await read({ after: 10 })).toEqual([]);
      expect(await read({ after: 99 })).toEqual([]);
      expect(await read({ after: 6, upTo: 6 })).toEqual([]);
      expect(await read({ after: 6, upTo: 3 })).toEqual([]);
    });

    test('[LOG9, LOG11] a page stops before its payloads exceed maxBytes', async () => {
      const { store } = setup;
      const key = await withEvents(store, 10, 100);
      const read = async (maxBytes: number, order: 'ascending' | 'descending') =>
        seqs(await store.read(key, { after: 1, limit: 100, maxBytes, order }));
      expect(await read(300, 'ascending')).toEqual([2, 3, 4]);
      expect(await read(399, 'ascending')).toEqual([2, 3, 4]);
      expect(await read(400, 'ascending')).toEqual([2, 3, 4, 5]);
      expect(await read(300, 'descending')).toEqual([11, 10, 9]);
      expect(await read(1_000_000, 'ascending')).toHaveLength(10);
      expect(seqs(await store.read(key, { after: 1, limit: 2, maxBytes: 900 }))).toEqual([2, 3]);
    });

    test('[LOG9] a page holds at least one event, whatever maxBytes is', async () => {
      const { store } = setup;
      const key = await withEvents(store, 3, 100);
      await mustAppend(store, key, [raw(noise(40_000, 1)), raw(noise(10, 2))]);
      expect(seqs(await store.read(key, { after: 1, limit: 100, maxBytes: 1 }))).toEqual([2]);
      expect(seqs(await store.read(key, { limit: 100, maxBytes: 1, order: 'descending' }))).toEqual([6]);
      expect(seqs(await store.read(key, { after: 4, limit: 100, maxBytes: 500 }))).toEqual([5]);
      expect(seqs(await store.read(key, { after: 3, limit: 100, maxBytes: 500 }))).toEqual([4]);
    });

    test('[LOG9] maxBytes counts the uncompressed payload', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      const [first, ...rest] = [1, 2, 3, 4].map(() => raw(compressible(10_000)));
      await mustAppend(store, key, [first!, ...rest, raw(compressible(50_000)), raw(compressible(50_000))]);
      expect(seqs(await store.read(key, { after: 1, limit: 100, maxBytes: 25_000 }))).toEqual([2, 3]);
      expect(seqs(await store.read(key, { after: 5, limit: 100, maxBytes: 60_000 }))).toEqual([6]);
      expect(seqs(await store.read(key, { limit: 100, maxBytes: 60_000, order: 'descending' }))).toEqual([7]);
    });
  });
