import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newPgClient } from '../../../test/support/postgres/pg-client.ts';
import { createDatabase, type TestDatabase } from '../../../test/support/postgres/postgres.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { newKey, newWorkspace } from '../../testing/contract/contract-setup.ts';
import { rawText } from '../../testing/contract/log/new-events.ts';
import { append, expectSound, mustAppend, openSession, textOf } from '../../testing/contract/log/session-log.ts';
import { openPostgresStore } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** Locks the table against reads and writes in another transaction. Returns a function that ends that transaction. */
const hold = async (table: string): Promise<() => Promise<void>> => {
  const client = newPgClient(database.adminUrl);
  await client.connect();
  await client.query(`begin; lock table perdure.${table} in access exclusive mode`);
  return () => client.end();
};

const busy = { status: 'rejected', reason: { code: 'STORE_BUSY' } };

describe('a pool smaller than the number of callers', () => {
  // Callers wait at most three seconds for a connection, so a single connection serves fewer of them.
  test.each([
    [1, 80],
    [8, 200],
  ])(
    '[ST7] with a pool of %i, %i callers take turns, and appends and reads do not starve each other',
    async (poolSize, callers) => {
      const store = await openPostgresStore({ url: database.url, poolSize });
      const keys = Array.from({ length: 40 }, () => newKey());
      await Promise.all(keys.map((key) => openSession(store, key)));
      const call = async (n: number) => {
        const key = keys[n % keys.length]!;
        await mustAppend(store, key, [rawText(`${n}`)]);
        expect((await store.read(key, { limit: 100 })).map(textOf)).toContain(`${n}`);
        (await store.list(key.workspace, { limit: 10 })).sessions;
      };
      await Promise.all(Array.from({ length: callers }, (_, n) => call(n)));
      for (const key of keys) expect(await expectSound(store, key)).toHaveLength(1 + callers / keys.length);
      await store.close();
    },
  );

  test('[ST13] waiting callers fail with STORE_BUSY after a bounded time, and their rejected appends leave nothing behind', async () => {
    const store = await openPostgresStore({ url: database.url, statementTimeoutMs: 500 });
    const [mine, theirs] = [newWorkspace(), newWorkspace()];
    const keys = Array.from({ length: 100 }, (_, n) => newKey(n % 2 === 0 ? mine : theirs));
    await Promise.all(keys.map((key) => openSession(store, key)));
    const release = await hold('sessions');
    const startMs = performance.now();
    const readers = Array.from({ length: 20 }, () => store.list(mine, { limit: 1 }));
    const writers = keys.map((key) => append(store, key, [rawText('refused')]));
    const settled = await Promise.allSettled([...readers, ...writers]);
    expect(performance.now() - startMs).toBeLessThan(15_000);
    for (const each of settled) expect(each).toMatchObject(busy);
    await release();
    await Promise.all(keys.map((key) => mustAppend(store, key, [rawText('landed')])));
    for (const key of keys) expect((await expectSound(store, key)).slice(1).map(textOf)).toEqual(['landed']);
    await store.close();
  });

  test('[ST13] a batch that finds no connection rejects all its appends together', async () => {
    const store = await openPostgresStore({ url: database.url, poolSize: 1, statementTimeoutMs: 9000 });
    const workspace = newWorkspace();
    const keys = Array.from({ length: 20 }, () => newKey(workspace));
    await Promise.all(keys.map((key) => openSession(store, key)));
    const release = await hold('sessions');
    const reading = store.list(newWorkspace(), { limit: 1 });
    const startMs = performance.now();
    const settled = await Promise.allSettled(keys.map((key) => append(store, key, [rawText('refused')])));
    expect(performance.now() - startMs).toBeLessThan(8000);
    for (const each of settled) expect(each).toMatchObject(busy);
    await release();
    await reading;
    await store.close();
  });
});

describe('concurrent reads', () => {
  const countConnections = async (): Promise<number> => {
    const client = newPgClient(database.adminUrl);
    await client.connect();
    const { rows } = await client.query(
      `select count(*)::int as count from pg_stat_activity where application_name = 'perdure' and datname = current_database()`,
    );
    await client.end();
    return rows[0].count;
  };

  test('[ST14] four concurrent reads share a connection, and only within one workspace', async () => {
    const store = await openPostgresStore({ url: database.url });
    const [mine, theirs] = [newWorkspace(), newWorkspace()];
    const readFrom = (workspaces: readonly WorkspaceId[]) =>
      Promise.all(workspaces.map((workspace) => store.record(workspace, 'webhook', 'none')));
    const before = await countConnections();
    await readFrom([mine, mine, mine, mine]);
    expect(await countConnections()).toBe(before);
    await readFrom([mine, theirs]);
    expect(await countConnections()).toBe(before + 1);
    await readFrom(Array.from({ length: 9 }, () => mine));
    expect(await countConnections()).toBe(before + 2);
    await store.close();
  });

  test('[ST14] each of the reads on a shared connection has its own outcome', async () => {
    const store = await openPostgresStore({ url: database.url, statementTimeoutMs: 300 });
    const key = newKey();
    await openSession(store, key);
    await store.read(key, { limit: 1 }); // caches its lineage
    const release = await hold('events');
    const read = () => store.read(key, { limit: 1 });
    const settled = await Promise.allSettled([read(), store.record(key.workspace, 'webhook', 'none'), read()]);
    expect(settled).toMatchObject([busy, { status: 'fulfilled', value: undefined }, busy]);
    await release();
    expect(await read()).toHaveLength(1);
    await store.close();
  });

  test('[ST14] reads on a shared connection time out soon, and are retried on their own connections with the full time limit', async () => {
    const store = await openPostgresStore({ url: database.url, statementTimeoutMs: 3000 });
    const key = newKey();
    await openSession(store, key);
    await store.read(key, { limit: 1 });
    const release = await hold('events');
    const startMs = performance.now();
    const read = () => store.read(key, { limit: 1 });
    const reading = Promise.allSettled([read(), read(), read()]);
    await store.record(key.workspace, 'webhook', 'none');
    expect(performance.now() - startMs).toBeLessThan(2500);
    await release();
    for (const each of await reading) expect(each).toMatchObject({ status: 'fulfilled', value: [{ seq: 1 }] });
    await store.close();
  });

  test('[ST14] if the first of several concurrent reads times out while preparing, all report STORE_BUSY, and later reads work', async () => {
    const store = await openPostgresStore({ url: database.url, statementTimeoutMs: 300 });
    const workspace = newWorkspace();
    const release = await hold('records');
    const record = () => store.record(workspace, 'webhook', 'none');
    const settled = await Promise.allSettled([record(), record(), record()]);
    for (const each of settled) expect(each).toMatchObject(busy);
    await release();
    expect(await record()).toBeUndefined();
    await store.close();
  });
});
