import type pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { openRuntime } from '../../src/index.ts';
import { newPgClient } from '../support/postgres/pg-client.ts';
import { createOnlyDatabase, type PostgresServer, startPostgres } from '../support/postgres/start-postgres.ts';

let server: PostgresServer | undefined;
afterEach(() => server?.close());

const ask = async <Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> => {
  const client = newPgClient(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
};

/** Returns how often PostgreSQL has synced its log. Connections report their statistics when they end. */
const countSyncs = async (adminUrl: string): Promise<number> => {
  const [row] = await ask<{ fsyncs: number }>(
    adminUrl,
    `select sum(fsyncs)::int as fsyncs from pg_stat_io where object = 'wal' and backend_type = 'client backend'`,
  );
  return row!.fsyncs;
};

test('[LOG8] PostgreSQL syncs its log before every acknowledgement, even when the role turns synchronous_commit off', async () => {
  server = await startPostgres();
  const url = await createOnlyDatabase(server);
  await ask(server.adminUrl, 'alter role app set synchronous_commit = off');
  expect(
    await ask(url, `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as waits`),
  ).toEqual([{ fsync: 'on', waits: 'off' }]);
  const opening = await openRuntime({ store: url });
  const { id } = await opening.sessions.open();
  await opening.close();
  const before = await countSyncs(server.adminUrl);
  const runtime = await openRuntime({ store: url });
  const session = await runtime.sessions.get(id);
  const appends = 50;
  for (let i = 0; i < appends; i++) await session.append({ role: 'user', content: `${i}` });
  await runtime.close();
  expect((await countSyncs(server.adminUrl)) - before).toBeGreaterThanOrEqual(appends);
});
