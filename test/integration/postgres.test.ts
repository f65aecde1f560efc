import type pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { newPgClient } from '../support/postgres/pg-client.ts';
import { createDatabase } from '../support/postgres/postgres.ts';
import { testedRelease } from '../support/postgres/postgres-release.ts';
import { startPostgres } from '../support/postgres/start-postgres.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function connect(url: string): Promise<pg.Client> {
  const client = newPgClient(url);
  await client.connect();
  cleanups.push(() => client.end().catch(() => undefined));
  return client;
}

test('[ST22] a test database belongs to an ordinary role, on the PostgreSQL of this run, which syncs to disk', async () => {
  const database = await createDatabase();
  cleanups.push(database.drop);
  const client = await connect(database.url);
  const { rows } = await client.query(`
    select rolsuper, rolbypassrls, current_setting('fsync') fsync, current_setting('synchronous_commit') commit,
      current_setting('server_version_num')::int / 10000 version, pg_encoding_to_char(encoding) encoding,
      datdba = r.oid owned
    from pg_roles r, pg_database d where rolname = current_user and datname = current_database()`);
  expect(rows).toEqual([
    {
      rolsuper: false,
      rolbypassrls: false,
      fsync: 'on',
      commit: 'on',
      version: testedRelease(),
      encoding: 'UTF8',
      owned: true,
    },
  ]);
  const admin = await connect(database.adminUrl);
  const current = await admin.query('select current_database() = $1 same', [new URL(database.url).pathname.slice(1)]);
  expect(current.rows).toEqual([{ same: true }]);
});

test('a private server keeps its data across stop and start, and is gone after close', async () => {
  const server = await startPostgres();
  cleanups.push(server.close);
  await (await connect(server.adminUrl)).query('create table kept as select 42 as answer');
  await server.stop();
  await expect(connect(server.adminUrl)).rejects.toThrow('ECONNREFUSED');
  await server.start();
  expect((await (await connect(server.adminUrl)).query('select * from kept')).rows).toEqual([{ answer: 42 }]);
  await server.close();
  await expect(connect(server.adminUrl)).rejects.toThrow('ECONNREFUSED');
});
