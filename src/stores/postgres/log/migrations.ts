import type pg from 'pg';
import { PerdureError } from '../../../schema/error.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { isBlobEvent } from '../../log/blob-event-condition.ts';
import { type Meta, metaAdvice, parseMeta } from '../../log/stored-meta.ts';
import { isNewerRelease } from '../../release.ts';
import { workSchema } from '../queue/work-schema.ts';
import { pinnedSettings } from '../server/database.ts';
import { tenantTable } from '../server/tenant-table.ts';
import { admitFunction, appendFunction, appendTypes } from './append-function.ts';
import { namedBlob } from './blobs.ts';
import { ledgerFunction } from './ledger-rows.ts';

interface Migration {
  /** The oldest release that can use the database after this migration. */
  readonly oldestReader: string;
  readonly sql: string;
  /** Whether the rows of the projection tables must be made from the logs after this migration. */
  readonly rebuilds?: true;
}

/** The condition for calls whose effects going back does not undo, as far as the log says. */
export const isLasting = "confined is null and effects is distinct from 'none'";

/**
 * Tables that can be rebuilt from the log, even after they were dropped. The last migration that rebuilds them makes
 * them anew, so a change here needs such a migration once a release has made them.
 */
const projectionTables = {
  commit_paths: `
    create table perdure.commit_paths (
      workspace text collate "C" not null,
      session text collate "C" not null,
      seq bigint not null,
      path text collate "C" not null,
      turn bigint not null,
      at bigint not null,
      actor text collate "C" not null,
      tool text collate "C",
      provenance text collate "C",
      primary key (workspace, session, seq, path)
    );
    create index commit_paths_by_path on perdure.commit_paths (workspace, path, at, session, seq);
    create index commit_paths_by_tool on perdure.commit_paths (workspace, tool, at, session, seq) where tool is not null;
    create index commit_paths_by_actor on perdure.commit_paths (workspace, actor, at, session, seq);
    create index commit_paths_by_provenance on perdure.commit_paths (workspace, provenance, at, session, seq)
      where provenance is not null;
    create index commit_paths_by_time on perdure.commit_paths (workspace, at, session, seq, path);
    ${tenantTable('commit_paths')}
  `,
  tool_calls: `
    create table perdure.tool_calls (
      workspace text collate "C" not null,
      session text collate "C" not null,
      seq bigint not null,
      call_id text collate "C" not null,
      tool text collate "C" not null,
      status text collate "C" not null,
      run text collate "C",
      turn bigint not null,
      at bigint not null,
      actor text collate "C" not null,
      ended_seq bigint,
      duration_ms double precision,
      input_hash text not null,
      output_hash text,
      source text collate "C",
      root text collate "C" not null,
      effects text,
      confined boolean,
      primary key (workspace, session, seq)
    );
    create index tool_calls_by_input on perdure.tool_calls (workspace, root, tool, input_hash, at) where ${isLasting};
    create index tool_calls_open on perdure.tool_calls (workspace, session, call_id, seq) where ended_seq is null;
    create index tool_calls_by_tool on perdure.tool_calls (workspace, tool, at, session, seq);
    create index tool_calls_by_actor on perdure.tool_calls (workspace, actor, at, session, seq);
    create index tool_calls_by_time on perdure.tool_calls (workspace, at, session, seq);
    ${tenantTable('tool_calls')}
  `,
  charges: `
    create table perdure.charges (
      workspace text collate "C" not null,
      session text collate "C" not null,
      seq bigint not null,
      at bigint not null,
      run text collate "C",
      agent text collate "C",
      model text collate "C",
      member text collate "C",
      child text collate "C",
      input_tokens bigint not null,
      output_tokens bigint not null,
      cached_tokens bigint not null,
      usd double precision,
      is_rest boolean,
      primary key (workspace, session, seq)
    );
    create index charges_by_time on perdure.charges (workspace, at);
    ${tenantTable('charges')}
  `,
  session_values: `
    create table perdure.session_values (
      workspace text collate "C" not null,
      session text collate "C" not null,
      name text collate "C" not null,
      value text collate "C" not null,
      level smallint not null,
      span bigint not null,
      primary key (workspace, session, name, value)
    );
    create index session_values_by_value on perdure.session_values (workspace, name, value, level, span, session);
    ${tenantTable('session_values')}
  `,
} as const;

export const projectionNames = Object.keys(projectionTables);

/** Rows that quotas are checked against. They can be recounted from the log. */
const ledgerTable = `
  create table perdure.ledger (
    workspace text collate "C" not null,
    member text collate "C" not null,
    meter text collate "C" not null,
    period text collate "C" not null,
    used bigint not null,
    reserved bigint not null,
    primary key (workspace, member, meter, period)
  ) with (fillfactor = 60);
  ${tenantTable('ledger')}
`;

/** A cache of folds, which can be recreated empty. */
const snapshotTable = `
  create table perdure.snapshots (
    workspace text collate "C" not null,
    session text collate "C" not null,
    fold_version integer not null,
    seq bigint not null,
    manifest text not null,
    primary key (workspace, session, fold_version, seq)
  );
  ${tenantTable('snapshots')}
`;

/** Numbered from 1 by position. A released migration must not change. */
const migrations: readonly Migration[] = [
  {
    oldestReader: '0.0.1',
    // No indexed column of a session changes with its appends, so that its row is updated in its page (HOT). Payloads arrive compressed, so the server does not compress them.
    sql: `
      create table perdure.sessions (
        workspace text collate "C" not null,
        id text collate "C" not null,
        parent text collate "C",
        forked_at bigint,
        root text collate "C" not null,
        seq bigint not null,
        hash bytea not null,
        was bytea,
        at bigint not null,
        epoch bigint not null,
        status text not null,
        updated_at bigint not null,
        updated_span bigint not null generated always as (updated_at / 600000) stored,
        summary text not null,
        imported_to bigint not null default 0,
        primary key (workspace, id)
      ) with (fillfactor = 60);
      create index sessions_updated on perdure.sessions (workspace, updated_span);
      create index sessions_root on perdure.sessions (workspace, root);
      ${tenantTable('sessions')}

      create table perdure.events (
        workspace text collate "C" not null,
        session text collate "C" not null,
        seq bigint not null,
        at bigint not null,
        turn bigint not null,
        opens_turn boolean not null,
        run text collate "C",
        type text collate "C" not null,
        version integer not null,
        actor text collate "C" not null,
        salt bytea,
        encoding smallint not null,
        payload bytea not null,
        hash bytea not null,
        primary key (workspace, session, seq)
      ) with (toast_tuple_target = 4064);
      alter table perdure.events alter payload set storage external;
      create index events_turns on perdure.events (workspace, session, turn, seq) where opens_turn;
      create index events_blobs on perdure.events (workspace, payload) where encoding = 2;
      create index events_naming_blobs on perdure.events (workspace, session, seq) where ${isBlobEvent};
      ${tenantTable('events')}

      create table perdure.keys (
        workspace text collate "C" not null,
        session text collate "C" not null,
        key text collate "C" not null,
        body_hash text not null,
        seq bigint not null,
        count integer not null,
        primary key (workspace, session, key)
      );
      ${tenantTable('keys')}

      create table perdure.blobs (
        workspace text collate "C" not null,
        hash bytea not null,
        put_at timestamptz not null default clock_timestamp(),
        size bigint not null,
        encoding smallint not null,
        bytes bytea not null,
        primary key (workspace, hash)
      );
      alter table perdure.blobs alter bytes set storage external;
      ${tenantTable('blobs')}

      ${snapshotTable}
      ${workSchema}
      ${appendTypes}
    `,
  },
  {
    oldestReader: '0.0.1',
    sql: `
      create sequence perdure.record_versions;
      create table perdure.records (
        workspace text collate "C" not null,
        kind text collate "C" not null,
        id text collate "C" not null,
        version bigint not null default nextval('perdure.record_versions'),
        at bigint not null default floor(extract(epoch from clock_timestamp()) * 1000),
        due_at bigint,
        body text not null,
        primary key (workspace, kind, id)
      );
      create index records_due on perdure.records (workspace, kind, due_at, id) where due_at is not null;
      ${tenantTable('records')}
    `,
  },
  {
    oldestReader: '0.0.1',
    // A version 4 UUID has 122 random bits.
    sql: `
      create table perdure.note_key (
        one boolean primary key default true check (one),
        key bytea not null default sha256(convert_to(gen_random_uuid()::text || gen_random_uuid() || gen_random_uuid(), 'UTF8'))
      );
      revoke all on perdure.note_key from public;
      insert into perdure.note_key default values;
    `,
  },
  {
    oldestReader: '0.1.0',
    sql: Object.entries(projectionTables)
      .map(([name, table]) => `drop table if exists perdure.${name}; ${table}`)
      .join('\n'),
    rebuilds: true,
  },
  {
    oldestReader: '0.1.0',
    sql: `
      alter table perdure.sessions add column claim text collate "C" not null default '';
      alter type perdure.new_head add attribute claim text;
      ${admitFunction}
      ${appendFunction}
    `,
  },
  // The rebuild also makes the account of each session.
  { oldestReader: '0.1.0', sql: `${ledgerTable} ${ledgerFunction}`, rebuilds: true },
  {
    oldestReader: '0.1.0',
    sql: 'alter table perdure.sessions add column imported_from bigint not null default 0',
  },
  {
    oldestReader: '0.1.0',
    // A column, because row-level security keeps conditions on a function out of indexes.
    sql: `
      drop index perdure.sessions_updated;
      alter table perdure.sessions drop column updated_span;
      alter table perdure.sessions add ending text collate "C" not null generated always as (reverse(id)) stored;
      create index sessions_by_ending on perdure.sessions (workspace, ending);
      drop table if exists perdure.session_values;
      ${projectionTables.session_values}
    `,
    rebuilds: true,
  },
  // Large payloads count with their logs, and parts of fold snapshots not at all.
  {
    oldestReader: '0.1.0',
    sql: `
      alter table perdure.blobs add column counted boolean not null default true;
      alter table perdure.blobs no force row level security;
      alter table perdure.events no force row level security;
      alter table perdure.snapshots no force row level security;
      update perdure.blobs b set counted = false where
        exists (
          select from perdure.events e where e.workspace = b.workspace and e.encoding = 2 and e.payload = b.hash
        )
        or (b.workspace, encode(b.hash, 'hex')) in (
          select s.workspace, named[1] from perdure.snapshots s, regexp_matches(s.manifest, '${namedBlob}', 'g') named
        );
      alter table perdure.blobs force row level security;
      alter table perdure.events force row level security;
      alter table perdure.snapshots force row level security;
    `,
  },
  // Rows of bookkeeping have no provenance.
  {
    oldestReader: '0.1.0',
    sql: `drop table if exists perdure.commit_paths; ${projectionTables.commit_paths}`,
    rebuilds: true,
  },
  // Blobs stored before count for no member.
  {
    oldestReader: '0.1.0',
    sql: `alter table perdure.blobs add column member text collate "C" not null default ''`,
  },
];

/** The number of the last migration. */
export const newestSchema = migrations.length;

const metaTable = `
  create table perdure.meta (
    one boolean primary key default true check (one),
    schema integer not null,
    oldest_reader text not null
  );
  insert into perdure.meta (schema, oldest_reader) values (0, '0.0.0');
`;

/** Queries the catalog tables, because to_regclass may use a cache older than the lock just acquired. */
const exists = async (client: pg.Client, kind: 'tables' | 'namespace', condition: string): Promise<boolean> =>
  (await client.query(`select from pg_catalog.pg_${kind} where ${condition}`)).rows.length > 0;

const isTable = (client: pg.Client, name: string): Promise<boolean> =>
  exists(client, 'tables', `schemaname = 'perdure' and tablename = '${name}'`);

const readRow = async (client: pg.Client): Promise<Meta> => {
  const meta = parseMeta((await client.query('select schema, oldest_reader from perdure.meta')).rows[0]);
  if (!meta) throw new PerdureError('STORE_CORRUPT', `perdure.meta is missing or corrupt: ${metaAdvice}`);
  return meta;
};

const readMeta = async (client: pg.Client): Promise<Meta | undefined> =>
  (await isTable(client, 'meta')) ? readRow(client) : undefined;

/** Returns the oldest release that the database allows. Throws STORE_NEWER if that is newer than this release. */
export const admittedBy = async (client: pg.Client, release: string): Promise<string> => {
  const meta = await readRow(client);
  refuseNewer(meta, release);
  return meta.oldest_reader;
};

const refuseNewer = (meta: Meta | undefined, release: string): void => {
  if (!meta || !isNewerRelease(meta.oldest_reader, release)) return;
  throw new PerdureError(
    'STORE_NEWER',
    `the database was written by a newer release and needs perdure ${meta.oldest_reader} or later; this is ${release}: upgrade perdure`,
    { details: { needs: meta.oldest_reader, release } },
  );
};

/** The id of the advisory lock for migrations. It is arbitrary, but every release must use the same one. */
export const migrationLock = 7_313_825_671;

const lockMigrations = (client: pg.Client) => client.query('select pg_advisory_xact_lock($1)', [migrationLock]);

/** Recreates dropped tables within the open transaction. */
export const restoreProjectionTables = async (client: pg.Client): Promise<void> => {
  for (const [name, sql] of Object.entries({ ...projectionTables, ledger: ledgerTable, snapshots: snapshotTable })) {
    if (await isTable(client, name)) continue;
    await lockMigrations(client);
    if (!(await isTable(client, name))) await client.query(sql);
  }
};

/** Fills the empty projection tables of these workspaces, within the open transaction. */
export type Rebuild = (client: pg.Client, workspaces: readonly WorkspaceId[]) => Promise<void>;

/**
 * Row-level security hides the list of workspaces even from the owner. The lock that lifting it takes also holds every
 * append until the migration ends.
 */
const findWorkspaces = async (client: pg.Client): Promise<readonly WorkspaceId[]> => {
  await client.query('alter table perdure.sessions no force row level security');
  const { rows } = await client.query<{ workspace: WorkspaceId }>(
    'select distinct workspace from perdure.sessions order by workspace',
  );
  await client.query('alter table perdure.sessions force row level security');
  return rows.map(({ workspace }) => workspace);
};

const runPending = async (client: pg.Client, { release, rebuild }: MigrateOptions): Promise<void> => {
  await lockMigrations(client);
  const meta = await readMeta(client);
  refuseNewer(meta, release);
  if (!meta) {
    if (!(await exists(client, 'namespace', `nspname = 'perdure'`))) await client.query('create schema perdure');
    await client.query(metaTable);
  }
  const from = meta?.schema ?? 0;
  const pending = migrations.slice(from);
  const last = pending.at(-1);
  if (!last) return;
  const rebuilds = from > 0 && pending.some((each) => each.rebuilds);
  const workspaces = rebuilds ? await findWorkspaces(client) : [];
  for (const { sql } of pending) await client.query(sql);
  await rebuild(client, workspaces);
  // Writes hold a shared lock on this table; see `perdure.admit`.
  await client.query('lock table perdure.meta in access exclusive mode');
  const now = [migrations.length, last.oldestReader];
  await client.query('update perdure.meta set schema = $1, oldest_reader = $2', now);
};

/** The timeouts bound the wait for another migration, even if its machine vanished in the middle of it. */
const opening = (waitMs: number): string => `
  begin isolation level read committed;
  ${pinnedSettings};
  set local lock_timeout = ${Math.trunc(waitMs)};
  set local idle_in_transaction_session_timeout = ${Math.trunc(waitMs)};
`;

export interface MigrateOptions {
  readonly release: string;
  readonly waitMs: number;
  /** Whether `perdure.meta` exists, as far as the caller knows. */
  readonly isBegun: boolean;
  readonly rebuild: Rebuild;
}

/**
 * Migrates the database to this release's schema, in one transaction and under a lock. If several processes try, one
 * does the work.
 */
export const migrate = async (client: pg.Client, options: MigrateOptions): Promise<void> => {
  const { release, waitMs, isBegun } = options;
  const meta = isBegun ? await readRow(client) : undefined;
  refuseNewer(meta, release);
  if (meta && meta.schema >= migrations.length) return;
  await client.query(opening(waitMs));
  try {
    await runPending(client, options);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
};
