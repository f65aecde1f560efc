import pg from 'pg';
import { newestSchema } from './log/migrations.ts';
import { connectionOptions } from './server/database.ts';
import { postgresDefaults } from './server/postgres-defaults.ts';

export interface PostgresInspection {
  readonly kind: 'postgres';
  readonly server: string;
  readonly schema: number | undefined;
  readonly newestSchema: number;
  readonly isStandby: boolean;
  /** Settings that decide what survives a crash or a failover. */
  readonly settings: Readonly<Record<'fsync' | 'full_page_writes' | 'synchronous_commit' | 'standbys', string>>;
  readonly role: { readonly name: string; readonly isExempt: boolean };
  readonly connections: { readonly max: number; readonly used: number; readonly pool: number };
  /** How far the clock of the server is ahead of this machine's, in ms, and how exactly that is known. */
  readonly clock: { readonly aheadMs: number; readonly withinMs: number };
}

const facts = `
  select current_setting('server_version') as server, pg_is_in_recovery() as standby,
    current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
    current_setting('synchronous_commit') as synchronous_commit,
    current_setting('synchronous_standby_names') as standbys,
    current_user as role, r.rolsuper or r.rolbypassrls as exempt,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as max,
    (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
    to_regclass('perdure.meta') is not null as begun
  from pg_roles r where r.rolname = current_user`;

const clockOf = async (client: pg.Client): Promise<PostgresInspection['clock']> => {
  const before = Date.now();
  const { rows } = await client.query('select extract(epoch from clock_timestamp()) * 1000 as now');
  const after = Date.now();
  return { aheadMs: Math.round(Number(rows[0].now) - (before + after) / 2), withinMs: Math.ceil((after - before) / 2) };
};

/** Looks at a database without changing it, over one connection. */
export const inspectPostgres = async (
  url: string,
  pool: number = postgresDefaults.poolSize,
): Promise<PostgresInspection> => {
  const client = new pg.Client(connectionOptions(url));
  await client.connect();
  try {
    const found = (await client.query(facts)).rows[0];
    const { server, standby, fsync, full_page_writes, synchronous_commit, standbys, role, exempt, max, used } = found;
    const meta = found.begun ? (await client.query('select schema from perdure.meta')).rows[0] : undefined;
    return {
      kind: 'postgres',
      server,
      schema: meta?.schema,
      newestSchema,
      isStandby: standby,
      settings: { fsync, full_page_writes, synchronous_commit, standbys },
      role: { name: role, isExempt: exempt },
      connections: { max, used, pool },
      clock: await clockOf(client),
    };
  } finally {
    await client.end();
  }
};
