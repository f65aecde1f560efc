import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { askPostgres } from '../../../test/ask-postgres.ts';
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { rawText } from '../../testing/contract/new-events.ts';
import { expectSound, mustAppend, openSession } from '../../testing/contract/session-log.ts';
import { currentRelease } from '../release.ts';
import { openPostgresStore } from './index.ts';

const databases: TestDatabase[] = [];
let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
  databases.push(database);
});
afterAll(() => Promise.all(databases.map((each) => each.drop())));

const meta = () =>
  askPostgres<{ schema: number; oldest_reader: string }>(
    database.url,
    'select schema, oldest_reader from perdure.meta',
  );

describe('migrations', () => {
  test('[ST1] stores that open a new database at once end with one schema', async () => {
    const stores = await Promise.all(
      Array.from({ length: 8 }, () => openPostgresStore({ url: database.url, poolSize: 2 })),
    );
    expect(await meta()).toHaveLength(1);
    const key = newKey();
    await openSession(stores[0]!, key);
    for (const store of stores) await mustAppend(store, key, [rawText('a')]);
    expect(await expectSound(stores[7]!, key)).toHaveLength(9);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('[ST1] a database that has its schema is opened without the right to change it', async () => {
    await (await openPostgresStore({ url: database.url })).close();
    const before = await meta();
    const name = new URL(database.url).pathname.slice(1);
    await askPostgres(database.adminUrl, `alter database ${name} owner to current_user`);
    const store = await openPostgresStore({ url: database.url });
    await openSession(store, newKey());
    await store.close();
    expect(await meta()).toEqual(before);
  });

  test('[ST2] a database that needs a newer release is refused, and left as it is', async () => {
    await (await openPostgresStore({ url: database.url })).close();
    await askPostgres(database.url, `update perdure.meta set schema = schema + 1, oldest_reader = '9.10.0'`);
    const before = await meta();
    await expect(openPostgresStore({ url: database.url, release: '9.9.12' })).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: expect.stringContaining('upgrade perdure'),
      details: { needs: '9.10.0', release: '9.9.12' },
    });
    expect(await meta()).toEqual(before);
    await (await openPostgresStore({ url: database.url, release: '9.10.0' })).close();
  });

  test('[ST2] a newer schema that still lets this release read is used and left alone', async () => {
    await (await openPostgresStore({ url: database.url })).close();
    await askPostgres(database.url, 'update perdure.meta set schema = schema + 1');
    const before = await meta();
    const store = await openPostgresStore({ url: database.url, release: currentRelease() });
    await openSession(store, newKey());
    await store.close();
    expect(await meta()).toEqual(before);
  });
});
