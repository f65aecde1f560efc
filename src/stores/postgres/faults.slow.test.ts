import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askPostgres } from '../../../test/support/postgres/ask-postgres.ts';
import { newPgClient } from '../../../test/support/postgres/pg-client.ts';
import { createDatabase, type TestDatabase } from '../../../test/support/postgres/postgres.ts';
import {
  createOnlyDatabase,
  type PostgresServer,
  startPostgres,
} from '../../../test/support/postgres/start-postgres.ts';
import { hashOf } from '../../core/files/tree.ts';
import type { SessionKey, Store } from '../../core/ports/store.ts';
import { isPerdureError } from '../../schema/error.ts';
import { newKey, newWorkspace } from '../../testing/contract/contract-setup.ts';
import { forked, rawText } from '../../testing/contract/log/new-events.ts';
import { append, expectSound, mustAppend, openSession, textOf } from '../../testing/contract/log/session-log.ts';
import { newWakeSignal } from '../../testing/contract/waking/wake-signal.ts';
import { openPostgresStore } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const unavailable = { code: 'STORE_UNAVAILABLE' };

const killConnections = (adminUrl: string) =>
  askPostgres(
    adminUrl,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'perdure'`,
  );

/** Locks the session's row in another transaction. Returns a function that ends that transaction. */
const holdSession = async (adminUrl: string, { workspace, session }: SessionKey): Promise<() => Promise<void>> => {
  const client = newPgClient(adminUrl);
  await client.connect();
  await client.query('begin');
  await client.query('select 1 from perdure.sessions where workspace = $1 and id = $2 for update', [
    workspace,
    session,
  ]);
  return () => client.end();
};

/** Blocks all reads of blobs in another transaction. Returns a function that ends that transaction. */
const holdBlobs = async (adminUrl: string): Promise<() => Promise<void>> => {
  const client = newPgClient(adminUrl);
  await client.connect();
  await client.query('begin; lock table perdure.blobs in access exclusive mode');
  return () => client.end();
};

/** Appends one event after another until stopped. Returns the acknowledged texts and those whose outcome is unknown. */
const writeUntil = async (store: Store, key: SessionKey, stopped: () => boolean) => {
  const acknowledged: string[] = [];
  const unsure: string[] = [];
  for (let i = 0; !stopped(); i++) {
    const text = `${key.session} ${i}`;
    try {
      await mustAppend(store, key, [rawText(text)]);
      acknowledged.push(text);
    } catch (error) {
      if (!isPerdureError(error, 'STORE_UNAVAILABLE')) throw error;
      if (error.details.outcome === 'unknown') unsure.push(text);
    }
  }
  return { acknowledged, unsure };
};

describe('broken connections', () => {
  test('[FAULT1, FAULT9, LOG2] killing connections loses no acknowledged append and duplicates none', async () => {
    const store = await openPostgresStore({ url: database.url });
    const workspace = newWorkspace();
    const keys = Array.from({ length: 12 }, () => newKey(workspace));
    await Promise.all(keys.map((key) => openSession(store, key)));
    let stopped = false;
    const writers = keys.map((key) => writeUntil(store, key, () => stopped));
    for (let kill = 0; kill < 25; kill++) await killConnections(database.adminUrl);
    stopped = true;
    for (const [index, writer] of writers.entries()) {
      const { acknowledged, unsure } = await writer;
      const landed = (await expectSound(store, keys[index]!)).slice(1).map(textOf);
      expect(landed.filter((text) => !unsure.includes(text))).toEqual(acknowledged);
      expect(new Set(landed).size).toBe(landed.length);
      expect(acknowledged.length).toBeGreaterThan(0);
    }
    await store.close();
  });

  test('[FAULT1, FAULT9] sessions that are being created while connections are killed exist once or not at all', async () => {
    const store = await openPostgresStore({ url: database.url });
    const workspace = newWorkspace();
    const made: SessionKey[] = [];
    let stopped = false;
    const making = Array.from({ length: 4 }, async () => {
      while (!stopped) {
        const key = newKey(workspace);
        const outcome = await openSession(store, key).catch((error: unknown) => {
          if (!isPerdureError(error, 'STORE_UNAVAILABLE')) throw error;
        });
        if (outcome) made.push(key);
      }
    });
    for (let kill = 0; kill < 10; kill++) await killConnections(database.adminUrl);
    stopped = true;
    await Promise.all(making);
    for (const key of made) expect(await expectSound(store, key)).toHaveLength(1);
    await store.close();
  });
});

describe('a stopped server', () => {
  let server: PostgresServer;
  let url: string;
  beforeAll(async () => {
    server = await startPostgres();
    url = await createOnlyDatabase(server);
  });
  afterAll(() => server.close());

  test('[FAULT1, FAULT9] while the server is down, every call soon fails with STORE_UNAVAILABLE, and calls succeed again when it is up', async () => {
    const store = await openPostgresStore({ url, fallbackPollMs: 3_600_000 });
    const key = newKey();
    await openSession(store, key);
    const signal = newWakeSignal();
    store.watch(key, signal.wake);
    await signal.next();
    await server.stop();
    const started = performance.now();
    await expect(append(store, key, [rawText('lost')])).rejects.toMatchObject(unavailable);
    await expect(store.head(key)).rejects.toMatchObject(unavailable);
    await expect(store.read(key, { limit: 1 })).rejects.toMatchObject(unavailable);
    await expect(store.list(key.workspace, { limit: 1 })).rejects.toMatchObject(unavailable);
    await expect(openPostgresStore({ url })).rejects.toMatchObject({
      ...unavailable,
      message: expect.not.stringContaining('app:app'),
    });
    expect(performance.now() - started).toBeLessThan(15_000);
    await server.start();
    await mustAppend(store, key, [rawText('back')]);
    expect((await expectSound(store, key)).slice(1).map(textOf)).toEqual(['back']);
    const other = await openPostgresStore({ url });
    const { head } = await mustAppend(other, key, [rawText('from elsewhere')]);
    for (let seen = 0; seen < head.seq; seen = (await store.head(key))!.seq) await signal.next();
    await other.close();
    await store.close();
  });

  test('[FAULT1, FAULT9, ST3] a store can be closed while the server is down', async () => {
    const store = await openPostgresStore({ url });
    const key = newKey();
    await openSession(store, key);
    store.watch(key, () => undefined);
    await server.stop();
    await store.close();
    await server.start();
  });
});

describe('interference by other writers and administrators', () => {
  test('[FAULT1, FAULT9, ST13] an append to a session locked by another transaction fails with STORE_BUSY, and the rest of its batch lands', async () => {
    const store = await openPostgresStore({ url: database.url, statementTimeoutMs: 500 });
    const workspace = newWorkspace();
    const [held, free] = [newKey(workspace), newKey(workspace)];
    for (const key of [held, free]) await openSession(store, key);
    const release = await holdSession(database.adminUrl, held);
    const [busy, landed] = await Promise.allSettled([held, free].map((key) => mustAppend(store, key, [rawText('a')])));
    expect(busy).toMatchObject({ status: 'rejected', reason: { code: 'STORE_BUSY' } });
    expect(landed!.status).toBe('fulfilled');
    await release();
    await mustAppend(store, held, [rawText('b')]);
    expect((await expectSound(store, held)).slice(1).map(textOf)).toEqual(['b']);
    await store.close();
  });

  test('[LOG7] when the engine rejects the append to one session, the other appends of its batch land', async () => {
    const store = await openPostgresStore({ url: database.url });
    const workspace = newWorkspace();
    const keys = Array.from({ length: 5 }, () => newKey(workspace));
    for (const key of keys) await openSession(store, key);
    await askPostgres(
      database.adminUrl,
      `create function perdure.refuse() returns trigger language plpgsql as $$ begin raise exception 'no room for it'; end $$;
       create trigger refuse before insert on perdure.events for each row when (new.session = '${keys[2]!.session}')
         execute function perdure.refuse()`,
    );
    const results = await Promise.allSettled(keys.map((key) => mustAppend(store, key, [rawText('a')])));
    expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, true]);
    await askPostgres(database.adminUrl, 'drop trigger refuse on perdure.events');
    for (const [index, key] of keys.entries()) expect(await expectSound(store, key)).toHaveLength(index === 2 ? 1 : 2);
    await store.close();
  });

  test('[LOG1] after the database returns to an earlier state, a store with newer cached heads leaves no gap', async () => {
    const store = await openPostgresStore({ url: database.url });
    const key = newKey();
    await openSession(store, key);
    const { head } = await mustAppend(store, key, [rawText('kept')]);
    await mustAppend(store, key, [rawText('lost'), rawText('lost too')]);
    await askPostgres(
      database.adminUrl,
      'delete from perdure.events where workspace = $1 and session = $2 and seq > 2',
      key.workspace,
      key.session,
    );
    await askPostgres(
      database.adminUrl,
      'update perdure.sessions set seq = 2, hash = $3, summary = $4 where workspace = $1 and id = $2',
      key.workspace,
      key.session,
      Buffer.from(head.hash),
      JSON.stringify(head.summary),
    );
    await mustAppend(store, key, [rawText('after')]);
    expect((await expectSound(store, key)).slice(1).map(textOf)).toEqual(['kept', 'after']);
    await askPostgres(database.adminUrl, 'delete from perdure.sessions where workspace = $1', key.workspace);
    expect(await append(store, key, [rawText('nowhere')])).toEqual({ outcome: 'missing' });
    expect(await store.head(key)).toBeUndefined();
    await store.close();
  });

  test('[FORK1] a fork at an event beyond the head reports a missing fork point', async () => {
    const store = await openPostgresStore({ url: database.url });
    const key = newKey();
    await openSession(store, key);
    await mustAppend(store, key, [rawText('a')]);
    await askPostgres(database.adminUrl, 'update perdure.sessions set seq = 1 where id = $1', key.session);
    const creates = { parent: { session: key.session, seq: 2 } };
    const child = newKey(key.workspace);
    expect(await append(store, child, [forked(key, 2)], { creates })).toEqual({ outcome: 'missing' });
    await store.close();
  });

  test('[FAULT2] an append to a session with a damaged head fails without affecting the others of its batch', async () => {
    const store = await openPostgresStore({ url: database.url });
    const workspace = newWorkspace();
    const [bad, good] = [newKey(workspace), newKey(workspace)];
    for (const key of [bad, good]) await openSession(store, key);
    await askPostgres(database.adminUrl, `update perdure.sessions set summary = '{' where id = $1`, bad.session);
    const other = await openPostgresStore({ url: database.url });
    const [damaged, landed] = await Promise.allSettled(
      [bad, good].map((key) => mustAppend(other, key, [rawText('a')])),
    );
    expect(damaged).toMatchObject({ status: 'rejected', reason: { code: 'STORE_CORRUPT' } });
    expect(landed!.status).toBe('fulfilled');
    await expect(other.head(bad)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    expect((await other.list(workspace, { limit: 10 })).sessions).toHaveLength(2);
    await store.close();
    await other.close();
  });
});

describe('transactions that the engine aborts', () => {
  /**
   * Makes the next `times` inserts into the table run the SQL in `fail` first. Returns a function that removes the
   * failure.
   */
  const failTimes = async (table: string, times: number, fail: string): Promise<() => Promise<unknown>> => {
    await askPostgres(
      database.adminUrl,
      `create sequence perdure.failures;
       grant usage on sequence perdure.failures to public;
       create function perdure.fail() returns trigger language plpgsql as $$ begin
         if nextval('perdure.failures') <= ${times} then ${fail}; end if;
         return new;
       end $$;
       create trigger fail before insert on perdure.${table} for each statement execute function perdure.fail()`,
    );
    return () => askPostgres(database.adminUrl, 'drop function perdure.fail cascade; drop sequence perdure.failures');
  };
  const raising = (state: string) => `raise exception 'broken off' using errcode = '${state}'`;

  test.each([
    ['a serialization failure', raising('40001')],
    ['a deadlock', raising('40P01')],
    ['a server that became read-only', raising('25006')],
    ['a server that is shutting down', raising('57P01')],
    ['a server crash', raising('57P02')],
    ['a server that is starting', raising('57P03')],
    ['a connection failure', raising('08006')],
    ['a connection terminated mid-statement', 'perform pg_terminate_backend(pg_backend_pid())'],
  ])('[FAULT1, FAULT9] an append is retried after %s, and lands once', async (_, fail) => {
    const store = await openPostgresStore({ url: database.url });
    const key = newKey();
    await openSession(store, key);
    const mend = await failTimes('events', 2, fail);
    await mustAppend(store, key, [rawText('a')]).finally(mend);
    expect((await expectSound(store, key)).slice(1).map(textOf)).toEqual(['a']);
    await store.close();
  });

  test('[FAULT1, FAULT9] an append that always hits a time limit fails with an unknown outcome, and the error names the limit to raise', async () => {
    const url = new URL(database.url);
    url.searchParams.set('options', '-c transaction_timeout=300ms');
    const store = await openPostgresStore({ url: url.href });
    const key = newKey();
    await openSession(store, key);
    const mend = await failTimes('events', 1000, 'perform pg_sleep(1)');
    await expect(append(store, key, [rawText('a')]).finally(mend)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      details: { outcome: 'unknown' },
      message: expect.stringMatching(/it landed is unknown: raise transaction_timeout .* the same idempotency key/),
    });
    expect(await expectSound(store, key)).toHaveLength(1);
    await store.close();
  });

  test.each(['40001', '40P01', '08006'])(
    '[FAULT1, FAULT9] putting blobs is retried after SQLSTATE %s',
    async (state) => {
      const store = await openPostgresStore({ url: database.url });
      const workspace = newWorkspace();
      const bytes = Buffer.from(workspace);
      const mend = await failTimes('blobs', 1, raising(state));
      await store.putBlobs(workspace, [{ hash: hashOf(bytes), bytes }]).finally(mend);
      expect(await store.readBlob(workspace, hashOf(bytes))).toEqual(new Uint8Array(bytes));
      await store.close();
    },
  );

  test('[FAULT1, FAULT9] a write of records is retried after a deadlock and takes effect once', async () => {
    const store = await openPostgresStore({ url: database.url });
    const workspace = newWorkspace();
    const mend = await failTimes('records', 1, raising('40P01'));
    const write = { kind: 'member', id: 'a', onVersion: 0, body: {} } as const;
    expect(await store.writeRecords(workspace, [write]).finally(mend)).toBe(true);
    expect(await store.records(workspace, 'member', { limit: 10 })).toHaveLength(1);
    await store.close();
  });
});

describe('slow blob reads', () => {
  test.each([1, 8])(
    '[BLOB5] many concurrent blob reads leave connections for others, with a pool of %i',
    async (poolSize) => {
      const store = await openPostgresStore({ url: database.url, poolSize });
      const workspace = newWorkspace();
      const bytes = Array.from({ length: 300 }, (_, n) => Buffer.from(`${workspace} ${n}`));
      const blobs = bytes.map((each) => ({ hash: hashOf(each), bytes: each }));
      await store.putBlobs(workspace, blobs);
      const release = await holdBlobs(database.adminUrl);
      const reading = Promise.all(blobs.map(({ hash }) => store.readBlob(workspace, hash)));
      reading.catch(() => undefined);
      if (poolSize > 1) expect((await store.list(workspace, { limit: 1 })).sessions).toEqual([]);
      await release();
      expect((await reading).map((each) => Buffer.from(each!).toString())).toEqual(bytes.map(String));
      await store.close();
    },
  );

  test('[BLOB5, TEN1] each of several batched blob reads returns the blob of its own workspace', async () => {
    const store = await openPostgresStore({ url: database.url });
    const [mine, theirs] = [newWorkspace(), newWorkspace()];
    const bytes = Buffer.from('mine');
    const hash = hashOf(bytes);
    await store.putBlobs(mine, [{ hash, bytes }]);
    const release = await holdBlobs(database.adminUrl);
    const reading = Promise.all(
      Array.from({ length: 20 }, (_, n) => store.readBlob(n % 2 === 0 ? mine : theirs, hash)),
    );
    await release();
    expect((await reading).map((each) => each !== undefined)).toEqual(
      Array.from({ length: 20 }, (_, n) => n % 2 === 0),
    );
    await store.close();
  });
});
