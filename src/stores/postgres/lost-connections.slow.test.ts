import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { askPostgres } from '../../../test/support/postgres/ask-postgres.ts';
import { newPgClient } from '../../../test/support/postgres/pg-client.ts';
import { createDatabase, type TestDatabase } from '../../../test/support/postgres/postgres.ts';
import { type PostgresProxy, startProxy } from '../../../test/support/postgres/postgres-proxy.ts';
import type { SessionKey, Store } from '../../core/ports/store.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { idempotencyKey, rawText } from '../../testing/contract/log/new-events.ts';
import { append, expectSound, mustAppend, openSession, textOf } from '../../testing/contract/log/session-log.ts';
import { openPostgresStore } from './index.ts';

let database: TestDatabase;
let proxy: PostgresProxy;
let store: Store;
let key: SessionKey;
beforeAll(async () => {
  database = await createDatabase();
});
beforeEach(async () => {
  proxy = await startProxy(database.url);
  store = await openPostgresStore({ url: proxy.url });
  key = newKey();
  await openSession(store, key);
});
afterEach(async () => {
  proxy.mode = 'pass';
  await store.close();
  await proxy.close();
});
afterAll(() => database.drop());

const texts = async (): Promise<readonly string[]> => (await expectSound(store, key)).slice(1).map(textOf);

describe('an append on a connection that breaks', () => {
  test('[FAULT1] an append lost before it reaches the server is sent again', async () => {
    proxy.mode = 'lose-request';
    const { head } = await mustAppend(store, key, [rawText('a')]);
    expect(head.seq).toBe(2);
    expect(await texts()).toEqual(['a']);
  });

  test('[FAULT1, LOG3] an append whose acknowledgement is lost is found in the log and not sent again', async () => {
    proxy.mode = 'lose-answer';
    const { head, events } = await mustAppend(store, key, [rawText('a'), rawText('b')]);
    expect({ seq: head.seq, count: events.length }).toEqual({ seq: 3, count: 2 });
    await mustAppend(store, key, [rawText('c')]);
    expect(await texts()).toEqual(['a', 'b', 'c']);
  });

  test('[FAULT1, KEY1] a keyed append whose acknowledgement is lost reports appended, not a duplicate of itself', async () => {
    proxy.mode = 'lose-answer';
    await mustAppend(store, key, [rawText('a')], { key: idempotencyKey('k', 'a') });
    const again = await append(store, key, [rawText('a')], { key: idempotencyKey('k', 'a') });
    expect(again).toEqual({ outcome: 'duplicate', seq: 2, count: 1 });
    expect(await texts()).toEqual(['a']);
  });

  test('[FAULT1] creating a session whose acknowledgement is lost succeeds', async () => {
    const fresh = newKey(key.workspace);
    proxy.mode = 'lose-answer';
    await openSession(store, fresh);
    expect(await expectSound(store, fresh)).toHaveLength(1);
  });

  test('[FAULT1, LOG7] when the acknowledgement of a batch is lost, each of its appends lands once', async () => {
    const others = Array.from({ length: 5 }, () => newKey(key.workspace));
    await Promise.all(others.map((other) => openSession(store, other)));
    proxy.mode = 'lose-answer';
    const sent = others.flatMap((other) => ['x', 'y'].map((text) => mustAppend(store, other, [rawText(text)])));
    await Promise.all(sent);
    for (const other of others) {
      expect((await expectSound(store, other)).slice(1).map(textOf)).toEqual(['x', 'y']);
    }
  });

  test('[FAULT1] an append that cannot be verified fails with an unknown outcome and says to repeat it with its key', async () => {
    proxy.afterwards = 'refuse';
    proxy.mode = 'lose-answer';
    const request = { key: idempotencyKey('k', 'a') };
    await expect(append(store, key, [rawText('a')], request)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      details: { outcome: 'unknown' },
      message: expect.stringContaining('the same idempotency key'),
    });
    proxy.mode = 'pass';
    expect(await append(store, key, [rawText('a')], request)).toEqual({ outcome: 'duplicate', seq: 2, count: 1 });
    expect(await texts()).toEqual(['a']);
  });

  test("[FAULT1] a lost append is not confused with another writer's event at its seq, and lands after it", async () => {
    const other = await openPostgresStore({ url: database.url });
    proxy.afterwards = 'refuse';
    proxy.mode = 'lose-request';
    const ours = mustAppend(store, key, [rawText('ours')]);
    await expect.poll(() => proxy.mode).toBe('refuse');
    await mustAppend(other, key, [rawText('theirs')]);
    proxy.mode = 'pass';
    expect((await ours).head.seq).toBe(3);
    expect(await texts()).toEqual(['theirs', 'ours']);
    await other.close();
  });

  test('[FAULT1] an append that the server rejected has no unknown outcome when the connection breaks afterwards', async () => {
    const other = newPgClient(database.adminUrl);
    await other.connect();
    await other.query(`begin; update perdure.sessions set hash = 'moved' where id = '${key.session}'`);
    const ours = append(store, key, [rawText('a')]).catch((error: unknown) => error);
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(() => askPostgres(database.adminUrl, waiting)).not.toEqual([]);
    proxy.afterwards = 'refuse';
    // A request of an idle connection must not take the loss: then the rejection itself would be lost.
    proxy.mode = 'lose-retry';
    await other.query('commit');
    await other.end();
    const failed = await ours;
    expect(failed).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(failed).not.toMatchObject({ details: { outcome: 'unknown' } });
  });

  test('[FAULT1] an append that never reaches the server fails soon and leaves nothing behind', async () => {
    proxy.mode = 'refuse';
    const failed = await append(store, key, [rawText('a')]).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    proxy.mode = 'pass';
    expect(await texts()).toEqual([]);
  });
});

test('[FAULT1] a read on a connection that breaks is retried', async () => {
  for (const mode of ['lose-request', 'lose-answer'] as const) {
    proxy.mode = mode;
    expect((await store.head(key))?.seq).toBe(1);
  }
});

describe('a write of records on a connection that breaks', () => {
  /** Uses its own proxy and store, so that nothing else is in flight that the proxy could drop instead. */
  const begin = async () => {
    const quiet = await startProxy(database.url);
    const records = await openPostgresStore({ url: quiet.url });
    onTestFinished(async () => {
      quiet.mode = 'pass';
      await records.close();
      await quiet.close();
    });
    const { workspace } = newKey();
    const writes = ['a', 'b'].map((id) => ({ kind: 'member', id, onVersion: 0, body: {} }) as const);
    const ids = async () => (await records.records(workspace, 'member', { limit: 10 })).map(({ id }) => id);
    expect(await ids()).toEqual([]);
    return { quiet, ids, write: () => records.writeRecords(workspace, writes) };
  };

  test('[FAULT1, REC2] a write of records lost before it reaches the server is sent again', async () => {
    const { quiet, ids, write } = await begin();
    quiet.mode = 'lose-request';
    expect(await write()).toBe(true);
    expect(await ids()).toEqual(['a', 'b']);
  });

  test('[FAULT1, REC2] a write of records whose commit is unacknowledged fails with an unknown outcome, and all its records are written', async () => {
    const { quiet, ids, write } = await begin();
    quiet.mode = 'lose-answer';
    await expect(write()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'unknown' } });
    expect(await ids()).toEqual(['a', 'b']);
    expect(await write()).toBe(false);
  });

  test('[FAULT1, REC2] a write of records that never reaches the server fails soon and leaves nothing behind', async () => {
    const { quiet, ids, write } = await begin();
    quiet.mode = 'refuse';
    await expect(write()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    quiet.mode = 'pass';
    expect(await ids()).toEqual([]);
  });
});
