import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { moduleUrl, runScript } from '../../../../test/support/cli/run-script.ts';
import { askPostgres } from '../../../../test/support/postgres/ask-postgres.ts';
import { newPgClient } from '../../../../test/support/postgres/pg-client.ts';
import { createDatabase, type TestDatabase } from '../../../../test/support/postgres/postgres.ts';
import { newKey } from '../../../testing/contract/contract-setup.ts';
import { raw } from '../../../testing/contract/log/new-events.ts';
import { mustAppend, openSession } from '../../../testing/contract/log/session-log.ts';
import { currentRelease } from '../../release.ts';
import { openPostgresStore } from '../index.ts';
import { migrationLock } from './migrations.ts';

const databases: TestDatabase[] = [];
let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
  databases.push(database);
});
afterAll(() => Promise.all(databases.map((each) => each.drop())));

const connect = async (url: string): Promise<pg.Client> => {
  const client = newPgClient(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
};

/** Resolves when a connection waits for a lock in the given statement. */
const waiting = async (statement: string): Promise<void> => {
  const find = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like $1`;
  while ((await askPostgres(database.adminUrl, find, statement)).length === 0);
};

const opener = (url: string): string => `
  import { openPostgresStore } from ${moduleUrl('src/stores/postgres/index.ts')};
  await openPostgresStore({ url: ${JSON.stringify(url)} });
`;

const meta = () =>
  askPostgres<{ schema: number; oldest_reader: string }>(
    database.url,
    'select schema, oldest_reader from perdure.meta',
  );

describe('migrations', () => {
  test('[ST1] a process killed during the first opening leaves nothing behind, and the next one migrates', async () => {
    const other = await connect(database.url);
    await other.query('begin; create schema perdure');
    const killed = runScript(opener(database.url));
    await waiting('create schema%');
    const next = openPostgresStore({ url: database.url });
    await waiting('select pg_advisory_xact_lock%');
    killed.kill();
    await killed.ended;
    await other.query('rollback');
    const store = await next;
    await openSession(store, newKey());
    await store.close();
    expect(await meta()).toHaveLength(1);
  });

  test('[ST1, FAULT1] opening fails with STORE_BUSY after waiting too long for another migration, and succeeds later', async () => {
    const other = await connect(database.url);
    await other.query('select pg_advisory_lock($1)', [migrationLock]);
    await expect(openPostgresStore({ url: database.url, statementTimeoutMs: 100 })).rejects.toMatchObject({
      code: 'STORE_BUSY',
      message: expect.stringContaining('try again'),
    });
    await other.end();
    await (await openPostgresStore({ url: database.url })).close();
  });

  test("[ST2] an older release that waits for a newer release's migration is rejected when that migration has finished", async () => {
    const newer = await connect(database.url);
    await newer.query(`begin; select pg_advisory_xact_lock(${migrationLock}); create schema perdure`);
    await newer.query(`create table perdure.meta as select 9 as schema, '9.10.0' as oldest_reader`);
    const older = openPostgresStore({ url: database.url, release: '9.9.12' });
    await waiting('select pg_advisory_xact_lock%');
    await newer.query('commit');
    await expect(older).rejects.toMatchObject({ code: 'STORE_NEWER', details: { needs: '9.10.0' } });
  });

  test('[ST1] a role without the right to change the schema can open a database whose schema is current', async () => {
    await (await openPostgresStore({ url: database.url })).close();
    const before = await meta();
    const name = new URL(database.url).pathname.slice(1);
    await askPostgres(database.adminUrl, `alter database ${name} owner to current_user`);
    const store = await openPostgresStore({ url: database.url });
    await openSession(store, newKey());
    await store.close();
    expect(await meta()).toEqual(before);
  });

  test('[ST2] a database that needs a newer release is rejected and left unchanged', async () => {
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

  test('[ST2] a newer schema that still allows this release is used and left unchanged', async () => {
    await (await openPostgresStore({ url: database.url })).close();
    await askPostgres(database.url, 'update perdure.meta set schema = schema + 1');
    const before = await meta();
    const store = await openPostgresStore({ url: database.url, release: currentRelease() });
    await openSession(store, newKey());
    await store.close();
    expect(await meta()).toEqual(before);
  });
});

test('an incompressible payload of 3 kB is stored inline in its row, and one of 5 kB is not', async () => {
  const store = await openPostgresStore({ url: database.url });
  const key = newKey();
  await openSession(store, key);
  const toastBytes = async () => {
    const [row] = await askPostgres<{ bytes: string }>(
      database.url,
      `select pg_relation_size(reltoastrelid) as bytes from pg_class where oid = 'perdure.events'::regclass`,
    );
    return Number(row!.bytes);
  };
  await mustAppend(store, key, [raw(randomBytes(3000))]);
  expect(await toastBytes()).toBe(0);
  await mustAppend(store, key, [raw(randomBytes(5000))]);
  expect(await toastBytes()).toBeGreaterThan(0);
  await store.close();
});
