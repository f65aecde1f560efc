import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callCli } from '../../../test/support/cli/call-cli.ts';
import { askPostgres } from '../../../test/support/postgres/ask-postgres.ts';
import { newPgClient } from '../../../test/support/postgres/pg-client.ts';
import { createDatabase } from '../../../test/support/postgres/postgres.ts';
import { newKey, newWorkspace } from '../../testing/contract/contract-setup.ts';
import { idempotencyKey, noise, raw } from '../../testing/contract/log/new-events.ts';
import { mustAppend, openSession } from '../../testing/contract/log/session-log.ts';
import { calling } from '../../testing/contract/queue/work-events.ts';
import { answered, called, committed, runWriter } from '../../testing/contract/records/record-events.ts';
import { openPostgresStore } from './index.ts';

const database = await createDatabase();
/** Connects as the role that owns the tables. */
const client = newPgClient(database.url);
const key = newKey();

/** Runs the statement in a transaction with this workspace set, or with none set. */
const inWorkspace = async (workspace: string | undefined, sql: string): Promise<readonly { n: number }[]> => {
  await client.query('begin');
  try {
    if (workspace) await client.query(`set local perdure.workspace = '${workspace}'`);
    return (await client.query(sql)).rows;
  } finally {
    await client.query('rollback');
  }
};

const tenantTables = async (): Promise<readonly string[]> => {
  const { rows } = await client.query(
    `select table_name as name from information_schema.columns where table_schema = 'perdure' and column_name = 'workspace'`,
  );
  return rows.map(({ name }) => name);
};

describe('row-level security', () => {
  beforeAll(async () => {
    const store = await openPostgresStore({ url: database.url });
    await openSession(store, key, { key: idempotencyKey('k', 'body') });
    const usage = { inputTokens: 1, outputTokens: 1 };
    const events = [raw(noise(20_000, 1)), committed(['/facts/a']), called('a'), answered(usage), calling()] as const;
    await mustAppend(store, key, events, { writer: runWriter });
    await store.putSnapshot(key, { seq: 1, foldVersion: 1, parts: {} });
    await store.writeRecords(key.workspace, [
      { kind: 'member', id: 'a', onVersion: 0, body: {} },
      { kind: 'quota', id: 'workspace', onVersion: 0, body: {} },
    ]);
    await store.close();
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  test('[TEN2] row-level security is forced on every table with a workspace, for an ordinary role that owns them', async () => {
    const { rows } = await client.query(
      `select c.relname as name, c.relrowsecurity and c.relforcerowsecurity as forced,
         pg_get_userbyid(c.relowner) = current_user as owned, r.rolsuper or r.rolbypassrls as exempt
       from pg_class c, pg_roles r
       where c.oid = any (select ('perdure.' || name)::regclass from unnest($1::text[]) name) and r.rolname = current_user`,
      [await tenantTables()],
    );
    expect(rows).toHaveLength((await tenantTables()).length);
    for (const row of rows) expect(row).toMatchObject({ forced: true, owned: true, exempt: false });
  });

  test('[TEN2] without the right workspace set, the owner of the tables sees and changes no row', async () => {
    const tables = await tenantTables();
    expect(tables.toSorted()).toEqual(
      [
        'blobs',
        'charges',
        'commit_paths',
        'events',
        'keys',
        'ledger',
        'records',
        'session_values',
        'sessions',
        'snapshots',
        'tool_calls',
        'work',
      ].toSorted(),
    );
    for (const table of tables) {
      const count = `select count(*)::int as n from perdure.${table}`;
      expect((await inWorkspace(key.workspace, count))[0]!.n).toBeGreaterThan(0);
      for (const other of [undefined, newWorkspace()]) {
        expect(await inWorkspace(other, count)).toEqual([{ n: 0 }]);
        expect(await inWorkspace(other, `delete from perdure.${table} returning 1 as n`)).toEqual([]);
        expect(await inWorkspace(other, `update perdure.${table} set workspace = 'w' returning 1 as n`)).toEqual([]);
      }
    }
  });

  test('[TEN2] a row of another workspace cannot be written, nor any row without a workspace set', async () => {
    for (const table of await tenantTables()) {
      const copy = `insert into perdure.${table} (workspace) values ('${key.workspace}')`;
      const move = `update perdure.${table} set workspace = 'elsewhere'`;
      for (const other of [undefined, newWorkspace()]) {
        await expect(inWorkspace(other, copy)).rejects.toThrow('row-level security');
      }
      await expect(inWorkspace(key.workspace, move)).rejects.toThrow('row-level security');
    }
  });

  test('[TEN2] a read-only role with BYPASSRLS can dump every row, and the owner cannot dump any', async () => {
    const { pathname } = new URL(database.url);
    const [admin, keeper] = [newPgClient(database.adminUrl), `keeper_${pathname.slice(1)}`];
    await admin.connect();
    await admin.query(`create role ${keeper} login bypassrls password 'kept'; grant pg_read_all_data to ${keeper}`);
    const reader = newPgClient(Object.assign(new URL(database.url), { username: keeper, password: 'kept' }).href);
    await reader.connect();
    try {
      for (const role of [reader, client]) await role.query('set row_security = off'); // as pg_dump does
      for (const table of await tenantTables()) {
        const count = `select count(*)::int as n from perdure.${table}`;
        expect((await reader.query(count)).rows).toEqual((await admin.query(count)).rows);
        await expect(client.query(count)).rejects.toThrow('would be affected by row-level security');
        await expect(reader.query(`delete from perdure.${table}`)).rejects.toThrow('permission denied');
      }
    } finally {
      await client.query('reset row_security');
      await reader.end();
      await admin.query(`drop role ${keeper}`);
      await admin.end();
    }
  });

  test('[TEN2] a dispatching transaction sees and changes the work of all workspaces, and nothing else', async () => {
    const dispatching = async (sql: string) => {
      await client.query(`begin; set local perdure.dispatch = 'on'`);
      return client.query(sql).finally(() => client.query('rollback'));
    };
    for (const table of await tenantTables()) {
      const { rows } = await dispatching(`select count(*)::int as n from perdure.${table}`);
      expect({ table, n: rows[0].n > 0 }).toEqual({ table, n: table === 'work' });
    }
    expect((await dispatching('update perdure.work set ready = false')).rowCount).toBeGreaterThan(0);
    const { rows } = await client.query('select count(*)::int as n from perdure.work');
    expect(rows).toEqual([{ n: 0 }]);
  });

  test('[TEN3] opening warns a superuser and a role with BYPASSRLS that row-level security does not bind them', async () => {
    const keeper = `passes_${new URL(database.url).pathname.slice(1)}`;
    await askPostgres(database.adminUrl, `create role ${keeper} login bypassrls in role perdure_app password 'kept'`);
    const passing = Object.assign(new URL(database.url), { username: keeper, password: 'kept' }).href;
    const warningsOf = async (url: string) => {
      const warnings: string[] = [];
      const store = await openPostgresStore({ url, onWarning: ({ message }) => warnings.push(message) });
      await openSession(store, newKey());
      await store.close();
      return warnings;
    };
    const warning = (role: string) =>
      expect.stringMatching(
        `does not bind ${role}, so only Perdure's own checks keep workspaces apart: use an ordinary`,
      );
    expect(await warningsOf(database.url)).toEqual([]);
    expect(await warningsOf(database.adminUrl)).toEqual([warning('postgres, a superuser')]);
    expect(await warningsOf(passing)).toEqual([warning(`${keeper}, which has BYPASSRLS`)]);
    await askPostgres(database.adminUrl, `drop role ${keeper}`);
    const disabled = 'because it was disabled on the tables, so .* enable and force it again';
    for (const [off, on] of [
      ['disable', 'enable'],
      ['no force', 'force'],
    ]) {
      await askPostgres(database.adminUrl, `alter table perdure.events ${off} row level security`);
      expect(await warningsOf(database.url)).toEqual([expect.stringMatching(disabled)]);
      await askPostgres(database.adminUrl, `alter table perdure.events ${on} row level security`);
    }
    expect(await warningsOf(database.url)).toEqual([]);
  });

  test('[TEN3] a command that connects as a superuser works, and warns on stderr', async () => {
    const { code, err } = await callCli(['ls', '--store', database.adminUrl]);
    expect(code).toBe(0);
    expect(err).toMatch(/^warning: row-level security does not bind postgres, a superuser, .*\n$/);
  });
});
