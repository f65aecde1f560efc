import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import type { SessionKey } from '../../src/core/ports/store.ts';
import { blobHash } from '../../src/core/session/events/chain.ts';
import { newKey } from '../../src/testing/contract/contract-setup.ts';
import { rawText } from '../../src/testing/contract/log/new-events.ts';
import { mustAppend, openSession, textOf } from '../../src/testing/contract/log/session-log.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const unpackedBytes = 32 * 1024 * 1024;
const content = Buffer.alloc(unpackedBytes);
const bomb = zstdCompressSync(content);
const rightHash = blobHash(content);
const wrongHash = Buffer.alloc(32, 7);

describe.each(storeKinds)('a decompression bomb in place of payloads, on %s', (kind) => {
  let place: StorePlace;
  beforeAll(async () => {
    place = await newStorePlace(kind);
  });
  afterAll(() => place.remove());

  const literal = (bytes: Uint8Array): string => {
    const hex = Buffer.from(bytes).toString('hex');
    return kind === 'sqlite' ? `x'${hex}'` : `'\\x${hex}'::bytea`;
  };
  const now = kind === 'sqlite' ? '0' : 'now()';

  /** Makes a session in which every event but the first names the bomb. The blob's row declares `size` bytes. */
  const withBomb = async (size: number, hash: Uint8Array): Promise<{ store: RuntimeStore; key: SessionKey }> => {
    const store = await openStoreAt(place.address);
    const key = newKey();
    await openSession(store, key);
    for (let n = 0; n < 8; n++) await mustAppend(store, key, [rawText(`${n}`)]);
    await store.close();
    await place.edit(
      (events, prefix) =>
        `insert into ${prefix}blobs (workspace, hash, put_at, size, encoding, bytes)
          values ('${key.workspace}', ${literal(hash)}, ${now}, ${size}, 1, ${literal(bomb)});
        update ${events} set encoding = 2, payload = ${literal(hash)}
          where workspace = '${key.workspace}' and session = '${key.session}' and seq > 1`,
    );
    return { store: await openStoreAt(place.address), key };
  };

  test('[FAULT2] unpacks no more than its row declares; its events are damaged, and other sessions stay usable', async () => {
    const { store, key } = await withBomb(10, rightHash);
    const events = await store.read(key, { limit: 256, maxBytes: 2 ** 21 });
    expect(events).toHaveLength(9);
    for (const { body } of events.slice(1)) expect(body).toMatchObject({ kind: 'damaged' });
    const other = newKey();
    await openSession(store, other);
    await mustAppend(store, other, [rawText('on')]);
    expect((await store.read(other, { limit: 10 })).slice(1).map(textOf)).toEqual(['on']);
    await store.close();
  });

  test('[FAULT2] is charged its unpacked size against the page limit, even if its hash is wrong', async () => {
    const { store, key } = await withBomb(unpackedBytes, wrongHash);
    const page = { limit: 256, maxBytes: 2 ** 21 };
    expect(await store.read(key, page)).toHaveLength(1);
    expect(await store.read(key, { ...page, after: 1 })).toMatchObject([{ seq: 2, body: { kind: 'damaged' } }]);
    expect(await store.read(key, { ...page, order: 'descending' })).toHaveLength(1);
    await store.close();
  });
});
