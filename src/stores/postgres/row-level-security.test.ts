import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askPostgres } from '../../../test/ask-postgres.ts';
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts';
import type { Store } from '../../core/ports/store.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { idempotencyKey, noise, raw } from '../../testing/contract/new-events.ts';
import { mustAppend, openSession } from '../../testing/contract/session-log.ts';
import { openPostgresStore } from './index.ts';

const tables = ['sessions', 'events', 'keys', 'blobs', 'snapshots'];
const mine = newKey();
const theirs = newKey();
let database: TestDatabase;
let store: Store;
let client: pg.Client;

beforeAll(async () => {
  database = await createDatabase();
  store = await openPostgresStore({ url: database.url });
  for (const key of [mine, theirs]) {
    await openSession(store, key);
    await mustAppend(store, key, [raw(noise(20_000, 1))], { key: idempotencyKey('a', 'b') });
    await store.putSnapshot(key, { seq: 1, foldVersion: 1, parts: { part: noise(10, 1) } });
  }
  client = new pg.Client(database.url);
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await store.close();
  await database.drop();
});

const countAll = async (): Promise<readonly number[]> => {
  const { rows } = await client.query(
    tables.map((table) => `select count(*)::int as count from perdure.${table}`).join(' union all '),
  );
  return rows.map(({ count }) => count);
};

describe('row-level security', () => {
  test('[TEN2] is on and forced for every table with a workspace', async () => {
    const found = await askPostgres<{ relname: string; on: boolean }>(
      database.adminUrl,
      `select c.relname, c.relrowsecurity and c.relforcerowsecurity as on
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace'
       where c.relnamespace = 'perdure'::regnamespace and c.relkind = 'r' order by 1`,
    );
    expect(found).toEqual(tables.toSorted().map((relname) => ({ relname, on: true })));
  });

  test('[TEN2] is tested with an ordinary role that owns the tables', async () => {
    const { rows } = await client.query(
      `select r.rolsuper or r.rolbypassrls as special, pg_get_userbyid(c.relowner) = current_user as owner
       from pg_roles r, pg_class c where r.rolname = current_user and c.oid = 'perdure.events'::regclass`,
    );
    expect(rows).toEqual([{ special: false, owner: true }]);
  });

  test('[TEN2] shows no row without a workspace, to the owner either', async () => {
    expect(await countAll()).toEqual([0, 0, 0, 0, 0]);
  });

  test('[TEN2] shows the rows of the workspace that is set, and no others', async () => {
    await client.query('begin');
    await client.query(`select set_config('perdure.workspace', $1, true)`, [mine.workspace]);
    expect(await countAll()).toEqual([1, 2, 1, 1, 1]);
    const { rows } = await client.query('select distinct workspace from perdure.events');
    expect(rows).toEqual([{ workspace: mine.workspace }]);
    await client.query('commit');
    expect(await countAll()).toEqual([0, 0, 0, 0, 0]);
  });

  test('[TEN2] lets nobody write without a workspace or into another', async () => {
    const insert = `insert into perdure.keys (workspace, session, key, body_hash, seq, count) values ($1, $2, 'new', '', 1, 1)`;
    const refused = { code: '42501' };
    await expect(client.query(insert, [mine.workspace, mine.session])).rejects.toMatchObject(refused);
    await client.query(`select set_config('perdure.workspace', $1, false)`, [mine.workspace]);
    await expect(client.query(insert, [theirs.workspace, theirs.session])).rejects.toMatchObject(refused);
    const moved = client.query('update perdure.keys set workspace = $1', [theirs.workspace]);
    await expect(moved).rejects.toMatchObject(refused);
    expect((await client.query('delete from perdure.keys where workspace = $1', [theirs.workspace])).rowCount).toBe(0);
    await client.query('reset perdure.workspace');
  });
});
