import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { newPgClient } from '../postgres/pg-client.ts';
import { createDatabase } from '../postgres/postgres.ts';
import { onDebianPostgres } from '../postgres/postgres-release.ts';

/** A place for a new store; `address` is what `openRuntime` accepts. */
export interface StorePlace {
  readonly address: string;
  /** Runs SQL on the database directly, as a person with database tools could. Table names need `prefix`. */
  edit(sql: (events: string, prefix: string) => string): Promise<void>;
  /** Every value in every table. */
  values(only?: readonly string[]): Promise<readonly unknown[]>;
  /**
   * Copies the database. The returned function puts the copy back in place, as a restore or an asynchronous failover
   * would: the store loses every commit since then, and open stores stay open.
   */
  keep(): Promise<() => Promise<void>>;
  remove(): Promise<void>;
}

export type StoreKind = 'sqlite' | 'postgres';
/** The stores of this run. SQLite is the same with every PostgreSQL, so it is not tested twice. */
export const storeKinds: readonly StoreKind[] = onDebianPostgres ? ['postgres'] : ['sqlite', 'postgres'];

const copyFile = async (from: string, to: string): Promise<void> => {
  const database = new DatabaseSync(from);
  await backup(database, to);
  database.close();
};

/** Copies every table of one schema into the tables of another, in one transaction. */
const copySchema = async (adminUrl: string, from: string, to: string): Promise<void> => {
  const client = newPgClient(adminUrl);
  await client.connect();
  const { rows } = await client.query<{ table: string; columns: string }>(
    `select table_name as table, string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
     where table_schema = 'perdure' and is_generated = 'NEVER' group by table_name`,
  );
  const copies = rows.map(
    ({ table, columns }) =>
      `create table if not exists ${to}.${table} as table perdure.${table} with no data;
       delete from ${to}.${table}; insert into ${to}.${table} (${columns}) select ${columns} from ${from}.${table};`,
  );
  await client.query(`begin; create schema if not exists ${to}; ${copies.join('\n')} commit`);
  await client.end();
};

const makers: Record<StoreKind, () => Promise<StorePlace>> = {
  sqlite: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-'));
    const file = join(folder, 'perdure.db');
    return {
      address: `sqlite:${file}`,
      edit: async (sql) => {
        const database = new DatabaseSync(file, { timeout: 10_000 });
        database.exec(sql('events', ''));
        database.close();
      },
      values: async (only) => {
        const database = new DatabaseSync(file, { timeout: 10_000 });
        const tables = database.prepare("select name from sqlite_master where type = 'table'").all();
        const names = tables.flatMap(({ name }) => (!only || only.includes(String(name)) ? [name] : []));
        const rows = names.flatMap((name) => database.prepare(`select * from "${name}"`).all());
        database.close();
        return rows.flatMap((row) => Object.values(row));
      },
      keep: async () => {
        await copyFile(file, `${file}-kept`);
        return () => copyFile(`${file}-kept`, file);
      },
      remove: () => rm(folder, { recursive: true }),
    };
  },
  postgres: async () => {
    const database = await createDatabase();
    return {
      address: database.url,
      edit: async (sql) => {
        const client = newPgClient(database.adminUrl);
        await client.connect();
        await client.query(sql('perdure.events', 'perdure.'));
        await client.end();
      },
      values: async (only) => {
        const client = newPgClient(database.adminUrl);
        await client.connect();
        const { rows: tables } = await client.query("select tablename from pg_tables where schemaname = 'perdure'");
        const values: unknown[] = [];
        for (const { tablename } of tables) {
          if (only && !only.includes(tablename)) continue;
          const { rows } = await client.query({ text: `select * from perdure."${tablename}"`, rowMode: 'array' });
          values.push(...rows.flat());
        }
        await client.end();
        return values;
      },
      keep: async () => {
        await copySchema(database.adminUrl, 'perdure', 'kept');
        return () => copySchema(database.adminUrl, 'kept', 'perdure');
      },
      remove: database.drop,
    };
  },
};

export const newStorePlace = (kind: StoreKind): Promise<StorePlace> => makers[kind]();
