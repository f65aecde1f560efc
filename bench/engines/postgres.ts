import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { byteaArray } from '../../src/stores/postgres/server/bytea-array.ts';
import { startPostgres } from '../../test/support/postgres/start-postgres.ts';
import type { BareLoop, BareReads, BareRow, Engine, GroupSizes, Place, ReadIds } from './engine.ts';

const role = 'perdure_bench';
const password = 'bench';

const withClient = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

/** Uses the same database as ours, without its row-level security. */
export const openBare = async (url: string): Promise<BareLoop> => {
  const pool = new pg.Pool({ connectionString: url });
  await pool.query('create table bare_events (like perdure.events including all)');
  const { rows } = await pool.query(
    `select array_to_string(reloptions, ', ') as options from pg_class where oid = 'perdure.events'::regclass`,
  );
  await pool.query(`alter table bare_events set (${rows[0].options})`);
  const text = `insert into bare_events
    (workspace, session, seq, at, turn, opens_turn, type, version, actor, salt, encoding, payload, hash)
    select 'local', session, seq, $1, seq, opens, 'message.appended', 1, 'member:local', salt, 0, payload, hash
    from unnest($2::text[], $3::bigint[], $4::boolean[], $5::bytea[], $6::bytea[], $7::bytea[])
      as rows (session, seq, opens, salt, payload, hash)`;
  return {
    insert: async (rows: readonly BareRow[]) => {
      const values = [
        Date.now(),
        rows.map(({ session }) => session),
        rows.map(({ seq }) => seq),
        rows.map(({ opensTurn }) => opensTurn),
        byteaArray(rows.map(({ salt }) => salt)),
        byteaArray(rows.map(({ payload }) => payload)),
        byteaArray(rows.map(({ hash }) => hash)),
      ];
      await pool.query({ name: 'bare', text, values });
    },
    close: () => pool.end(),
  };
};

const openReads = async (url: string, { key, member, session }: ReadIds): Promise<BareReads> => {
  const pool = new pg.Pool({ connectionString: url, options: '-c perdure.workspace=local' });
  const record =
    "select version, at, due_at, body from perdure.records where workspace = 'local' and kind = $1 and id = $2";
  const head = "select * from perdure.sessions where workspace = 'local' and id = $1";
  return {
    read: async () => {
      await pool.query({ name: 'record', text: record, values: ['key', key] });
      await pool.query({ name: 'record', text: record, values: ['member', member] });
      await pool.query({ name: 'head', text: head, values: [session] });
    },
    close: () => pool.end(),
  };
};

/** Measures the group sizes. Each row contains the id of the transaction that wrote it. */
const openGroupSizes = async (url: string, sessions: readonly string[]): Promise<GroupSizes> => {
  const pool = new pg.Pool({ connectionString: url, options: '-c perdure.workspace=local' });
  const text = `select count(*)::float8 / nullif(count(distinct xmin::text), 0) as mean from perdure.events
    where workspace = 'local' and session = any($1) and type = 'message.appended'`;
  return {
    mean: async () => (await pool.query(text, [sessions])).rows[0].mean,
    close: () => pool.end(),
  };
};

const totalBytes = `select sum(pg_total_relation_size(oid))::float8 as bytes from pg_class
  where relnamespace = 'perdure'::regnamespace and relkind = 'r'`;

/** Uses an ordinary role that owns its databases, as in production, so that row-level security applies. */
export const postgresEngine = async (): Promise<Engine> => {
  const server = await startPostgres();
  const admin = <T>(work: (client: pg.Client) => Promise<T>) => withClient(server.adminUrl, work);
  await admin((client) =>
    client.query(`create role ${role} login nosuperuser nobypassrls nocreatedb password '${password}'`),
  );
  return {
    name: 'postgres',
    newPlace: async (): Promise<Place> => {
      const name = `bench_${randomBytes(6).toString('hex')}`;
      await admin((client) => client.query(`create database ${name} owner ${role}`));
      const url = `postgres://${role}:${password}@${server.host}:${server.port}/${name}`;
      return {
        address: url,
        bytes: () => withClient(url, async (client) => Number((await client.query(totalBytes)).rows[0].bytes)),
        openBare: () => openBare(url),
        openReads: (ids) => openReads(url, ids),
        openGroupSizes: (sessions) => openGroupSizes(url, sessions),
        remove: () => admin(async (client) => void (await client.query(`drop database ${name} with (force)`))),
      };
    },
    close: () => server.close(),
  };
};
