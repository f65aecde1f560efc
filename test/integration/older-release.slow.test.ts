import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { BlobHash } from '../../src/core/ports/blobs.ts';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { newKey } from '../../src/testing/contract/contract-setup.ts';
import { message, opened } from '../../src/testing/contract/log/new-events.ts';
import { append, expectSound, mustAppend, openSession } from '../../src/testing/contract/log/session-log.ts';
import { newPgClient } from '../support/postgres/pg-client.ts';
import { newStorePlace, type StoreKind, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const openAs = async (kind: StoreKind, { address }: StorePlace, release: string): Promise<RuntimeStore> => {
  const store =
    kind === 'sqlite'
      ? await openSqliteStore({ file: address.slice('sqlite:'.length), release })
      : await openPostgresStore({ url: address, release });
  onTestFinished(() => store.close());
  return store;
};

const newPlace = async (kind: StoreKind): Promise<StorePlace> => {
  const place = await newStorePlace(kind);
  onTestFinished(() => place.remove());
  return place;
};

/** Raises the oldest release, as the migration of a newer release does. */
const allowFrom = ({ edit }: StorePlace, release: string): Promise<void> =>
  edit((_, prefix) => `update ${prefix}meta set schema = schema + 1, oldest_reader = '${release}'`);

const refused = { code: 'STORE_NEWER', details: { needs: '0.10.0', release: '0.9.12' } };

describe.each(storeKinds)('an open store of an older release on %s', (kind) => {
  test('[ST21] its next append fails once the database needs a newer release, and nothing is written', async () => {
    const place = await newPlace(kind);
    const store = await openAs(kind, place, '0.9.12');
    const keys = Array.from({ length: 3 }, () => newKey());
    for (const key of keys) await openSession(store, key);
    await allowFrom(place, '0.9.12');
    await mustAppend(store, keys[0]!, [message('still allowed')]);
    await allowFrom(place, '0.10.0');
    for (let round = 0; round < 2; round++) {
      for (const outcome of await Promise.allSettled(keys.map((key) => append(store, key, [message('late')])))) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: refused });
      }
    }
    await expect(append(store, newKey(), [opened()], { creates: {} })).rejects.toMatchObject({
      message: expect.stringContaining('upgrade perdure'),
    });
    expect(await Promise.all(keys.map(async (key) => (await expectSound(store, key)).length))).toEqual([2, 1, 1]);
    const newer = await openAs(kind, place, '0.10.0-rc.1');
    await mustAppend(newer, keys[0]!, [message('newer')]);
  });

  test('[ST21] it writes no records and blobs, imports nothing and claims no work', async () => {
    const place = await newPlace(kind);
    const store = await openAs(kind, place, '0.9.12');
    const key = newKey();
    await openSession(store, key);
    const { workspace } = key;
    const [first] = await store.read(key, { limit: 1 });
    await allowFrom(place, '0.10.0');
    const holder = { worker: 'w1', machine: 'here', process: 1, processStart: '1' };
    const writes = [
      () => store.writeRecords(workspace, [{ kind: 'secret', id: 'a', onVersion: 0, body: {} }]),
      () =>
        store.putBlobs(workspace, [
          { hash: createHash('sha256').update('a').digest('hex') as BlobHash, bytes: Buffer.from('a') },
        ]),
      () => store.claim({ holder, forMs: 1000, agents: ['a@1'], count: 1, held: [] }),
      () => store.rebuildProjections(workspace),
      () =>
        store.importCopies(
          newKey().workspace,
          [{ session: key.session, events: [first!], keys: [] }].values() as never,
        ),
    ];
    for (const write of writes) await expect(write()).rejects.toMatchObject({ code: 'STORE_NEWER' });
    expect(await store.record(workspace, 'secret', 'a')).toBeUndefined();
  });
});

test('[ST21] on PostgreSQL, STORE_NEWER is reported too if the migration removed what the older release calls', async () => {
  const place = await newPlace('postgres');
  const store = await openAs('postgres', place, '0.9.12');
  const key = newKey();
  await openSession(store, key);
  await place.edit(() => `drop function perdure.append; update perdure.meta set oldest_reader = '0.10.0'`);
  await expect(append(store, key, [message('late')])).rejects.toMatchObject(refused);
});

test('[ST21] on PostgreSQL, an append that waits for a migration sees the release that it requires', async () => {
  const place = await newPlace('postgres');
  const store = await openAs('postgres', place, '0.9.12');
  const key = newKey();
  await openSession(store, key);
  const newer = newPgClient(place.address);
  onTestFinished(() => newer.end());
  await newer.connect();
  await newer.query('begin; lock table perdure.sessions in access exclusive mode');
  const late = append(store, key, [message('late')]);
  late.catch(() => undefined);
  const isWaiting = async () =>
    (await newer.query(`select from pg_locks where not granted and relation = 'perdure.sessions'::regclass`)).rows
      .length;
  await expect.poll(isWaiting).toBe(1);
  await newer.query(
    `lock table perdure.meta in access exclusive mode; update perdure.meta set oldest_reader = '0.10.0'`,
  );
  await newer.query('commit');
  await expect(late).rejects.toMatchObject(refused);
  expect(await expectSound(store, key)).toHaveLength(1);
});
