import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { defineAgent, defineScript, openRuntime, type Runtime } from '../../src/index.ts';
import { migrate as migratePostgres } from '../../src/stores/postgres/log/migrations.ts';
import { migrate as migrateSqlite } from '../../src/stores/sqlite/file/migrations.ts';
import { newPgClient } from '../support/postgres/pg-client.ts';
import { newStorePlace, type StoreKind, type StorePlace, storeKinds } from '../support/stores/stores.ts';

/** Undoes later migrations: the tables as release 0.1.0 made them first, and the schema number of that time. */
const olderSchemas: Record<StoreKind, string> = {
  sqlite: `
DROP TABLE commit_paths; DROP TABLE tool_calls; DROP TABLE session_values; DROP INDEX sessions_by_ending;
ALTER TABLE sessions ADD COLUMN updated_span INTEGER NOT NULL DEFAULT 0;
CREATE TABLE commit_paths (
  workspace TEXT NOT NULL, session TEXT NOT NULL, seq INTEGER NOT NULL, path TEXT NOT NULL,
  turn INTEGER NOT NULL, at INTEGER NOT NULL, actor TEXT NOT NULL, tool TEXT, provenance TEXT NOT NULL,
  PRIMARY KEY (workspace, session, seq, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE tool_calls (
  workspace TEXT NOT NULL, session TEXT NOT NULL, seq INTEGER NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL,
  status TEXT NOT NULL, run TEXT, turn INTEGER NOT NULL, at INTEGER NOT NULL, actor TEXT NOT NULL, ended_seq INTEGER,
  duration_ms REAL, input_hash TEXT NOT NULL, output_hash TEXT,
  PRIMARY KEY (workspace, session, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX tool_calls_by_tool ON tool_calls (workspace, tool, at, session, seq);
ALTER TABLE sessions DROP COLUMN claim; ALTER TABLE sessions DROP COLUMN imported_from;
DROP INDEX blobs_counted; ALTER TABLE blobs DROP COLUMN counted;
ALTER TABLE blobs DROP COLUMN member;
DROP TABLE ledger;
UPDATE meta SET schema = 2, oldest_reader = '0.0.1';`,
  postgres: `
drop table perdure.commit_paths; drop table perdure.tool_calls; drop table perdure.session_values;
alter table perdure.sessions drop column ending;
alter table perdure.sessions add column updated_span bigint generated always as (updated_at / 600000) stored;
create index sessions_updated on perdure.sessions (workspace, updated_span);
create table perdure.commit_paths (
  workspace text collate "C" not null, session text collate "C" not null, seq bigint not null,
  path text collate "C" not null, turn bigint not null, at bigint not null, actor text collate "C" not null,
  tool text collate "C", provenance text collate "C" not null, primary key (workspace, session, seq, path)
);
create table perdure.tool_calls (
  workspace text collate "C" not null, session text collate "C" not null, seq bigint not null,
  call_id text collate "C" not null, tool text collate "C" not null, status text collate "C" not null,
  run text collate "C", turn bigint not null, at bigint not null, actor text collate "C" not null,
  ended_seq bigint, duration_ms double precision, input_hash text not null, output_hash text,
  primary key (workspace, session, seq)
);
create index tool_calls_by_tool on perdure.tool_calls (workspace, tool, at, session, seq);
alter table perdure.tool_calls enable row level security;
alter table perdure.tool_calls force row level security;
alter table perdure.sessions drop column claim; alter table perdure.sessions drop column imported_from;
alter type perdure.new_head drop attribute claim;
alter table perdure.blobs drop column counted, drop column member;
drop function perdure.admit; drop function perdure.enter_ledger; drop table perdure.ledger;
update perdure.meta set schema = 3, oldest_reader = '0.0.1';`,
};

/** Runs SQL as the owner of the tables. Returns the rows of the last statement. */
const asOwner = async (kind: StoreKind, address: string, sql: string): Promise<readonly unknown[]> => {
  if (kind === 'sqlite') {
    const database = new DatabaseSync(address.slice('sqlite:'.length));
    try {
      if (!sql.startsWith('select')) return [database.exec(sql)];
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  }
  const client = newPgClient(address);
  await client.connect();
  try {
    const answer = await client.query(sql);
    return Array.isArray(answer) ? answer.at(-1).rows : answer.rows;
  } finally {
    await client.end();
  }
};

const failed = new Error('the process ended here');
/** Migrates as an opening process does, but fails when the tables must be filled. */
const breakOff: Record<StoreKind, (address: string) => Promise<void>> = {
  sqlite: async (address) => {
    const file = address.slice('sqlite:'.length);
    const database = new DatabaseSync(file);
    try {
      migrateSqlite(database, file, '0.1.0', () => {
        throw failed;
      });
    } finally {
      database.close();
    }
  },
  postgres: async (address) => {
    const client = newPgClient(address);
    await client.connect();
    try {
      const rebuild = () => Promise.reject(failed);
      await migratePostgres(client, { release: '0.1.0', waitMs: 5000, isBegun: true, rebuild });
    } finally {
      await client.end();
    }
  },
};

describe.each(storeKinds)('a database with older projection tables on %s', (kind) => {
  const meta = kind === 'sqlite' ? 'meta' : 'perdure.meta';
  let place: StorePlace;
  beforeEach(async () => {
    place = await newStorePlace(kind);
  });
  afterEach(() => place.remove());

  const sessionsOf = (runtime: Runtime, workspace: string) =>
    runtime.as({ workspace, member: 'ann', role: 'admin' }).sessions;
  const work = async (runtime: Runtime, workspace: string) => {
    const session = await sessionsOf(runtime, workspace).open({ title: `of ${workspace}` });
    await session.append({ role: 'user', content: 'go' });
    await session.commit((draft) => Object.assign(draft.facts, { port: 8080 }));
    const tools = await session.track(
      { edit: async () => 'done' },
      { edit: { files: () => ({ 'a.ts': 'modified' }) } },
    );
    await tools.edit();
    const branch = await session.fork();
    await branch.commit((draft) => Object.assign(draft.facts, { host: 'here' }));
  };
  const records = async (runtime: Runtime, workspace: string) => ({
    commits: (await sessionsOf(runtime, workspace).commits()).commits,
    calls: (await sessionsOf(runtime, workspace).toolCalls({ tool: 'edit' })).calls,
    sessions: (await sessionsOf(runtime, workspace).list()).sessions,
  });
  const prepare = async () => {
    const runtime = await openRuntime({ store: place.address });
    for (const workspace of ['one', 'two']) await work(runtime, workspace);
    const before = { one: await records(runtime, 'one'), two: await records(runtime, 'two') };
    expect(before).toMatchObject({ one: { commits: { length: 3 }, calls: { length: 1 }, sessions: { length: 2 } } });
    await runtime.close();
    const [schema] = await asOwner(kind, place.address, `select schema, oldest_reader from ${meta}`);
    await asOwner(kind, place.address, olderSchemas[kind]);
    return { before, schema };
  };

  test('[ST20, ST1] several processes open it at once; the tables are filled from the logs of every workspace', async () => {
    const { before, schema } = await prepare();
    const runtimes = await Promise.all(Array.from({ length: 3 }, () => openRuntime({ store: place.address })));
    for (const runtime of runtimes) {
      expect({ one: await records(runtime, 'one'), two: await records(runtime, 'two') }).toEqual(before);
    }
    await work(runtimes[0]!, 'one');
    expect((await records(runtimes[1]!, 'one')).calls).toHaveLength(2);
    await Promise.all(runtimes.map((runtime) => runtime.close()));
    expect(await asOwner(kind, place.address, `select schema, oldest_reader from ${meta}`)).toEqual([schema]);
  });

  test('[ST20] a process that ends while the tables are filled leaves the old schema, and the next one migrates', async () => {
    const { before } = await prepare();
    const [old] = await asOwner(kind, place.address, `select * from ${meta}`);
    await expect(breakOff[kind](place.address)).rejects.toBe(failed);
    expect(await asOwner(kind, place.address, `select * from ${meta}`)).toEqual([old]);
    const runtime = await openRuntime({ store: place.address });
    expect({ one: await records(runtime, 'one'), two: await records(runtime, 'two') }).toEqual(before);
    await runtime.close();
  });

  test('[ST20] the migration puts no session into the queue whose work is done', async () => {
    const agent = defineAgent({ name: 'a', model: defineScript({ name: 's', steps: [{ text: 'Done.' }] }) });
    const runtime = await openRuntime({ store: place.address, agents: [agent], worker: false });
    const session = await runtime.sessions.open({ agent });
    await session.send('go');
    await runtime.worker().runUntilIdle();
    await runtime.close();
    await asOwner(kind, place.address, olderSchemas[kind]);
    await (await openRuntime({ store: place.address })).close();
    const queued = kind === 'sqlite' ? '' : `set perdure.dispatch = 'on'; `;
    expect(await asOwner(kind, place.address, `${queued}select * from ${meta.replace('meta', 'work')}`)).toEqual([]);
  });
});
