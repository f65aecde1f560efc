import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { askPostgres } from '../../../../test/support/postgres/ask-postgres.ts';
import { newPgClient } from '../../../../test/support/postgres/pg-client.ts';
import { createDatabase, type TestDatabase } from '../../../../test/support/postgres/postgres.ts';
import type { SessionKey, Store } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { newKey, newWorkspace } from '../../../testing/contract/contract-setup.ts';
import {
  idempotencyKey,
  noise,
  opened as openedEvent,
  raw,
  rawText,
} from '../../../testing/contract/log/new-events.ts';
import { append, mustAppend, openSession } from '../../../testing/contract/log/session-log.ts';
import { currentRelease } from '../../release.ts';
import { openPostgresStore } from '../index.ts';
import { Database } from '../server/database.ts';
import { AppendQueue } from './append-queue.ts';
import { openWriteLog } from './write-log.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** Blocks appends to the session until the returned function releases it. */
const hold = async ({ workspace, session }: SessionKey): Promise<() => Promise<void>> => {
  const client = newPgClient(database.adminUrl);
  await client.connect();
  await client.query('begin');
  await client.query('select 1 from perdure.sessions where workspace = $1 and id = $2 for update', [
    workspace,
    session,
  ]);
  return () => client.end();
};

const workFor = (ms: number): void => {
  for (const until = performance.now() + ms; performance.now() < until; );
};

test('[LOG7] when the appends of a failed batch are retried one by one, one that lands resolves before the others are retried', async () => {
  const statementTimeoutMs = 500;
  const store = await openPostgresStore({ url: database.url, statementTimeoutMs });
  const workspace = newWorkspace();
  const free = newKey(workspace);
  const held = Array.from({ length: 3 }, () => newKey(workspace));
  for (const key of [free, ...held]) await openSession(store, key);
  const releases = await Promise.all(held.map(hold));
  const ended: SessionKey[] = [];
  const append = (key: SessionKey) => mustAppend(store, key, [rawText('a')]).finally(() => ended.push(key));
  const [first, ...others] = await Promise.allSettled([
    append(free).then(() => expect(ended).toEqual([free])),
    ...held.map(append),
  ]);
  expect(first).toMatchObject({ status: 'fulfilled' });
  expect(others.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  await Promise.all(releases.map((release) => release()));
  await store.close();
});

test('[LOG1] concurrent appends to one session resolve in order, even when appends to many other sessions resolve with them', async () => {
  const store = await openPostgresStore({ url: database.url });
  const workspace = newWorkspace();
  const keys = Array.from({ length: 256 }, () => newKey(workspace));
  await Promise.all(keys.map((key) => openSession(store, key)));
  const resolved: string[] = [];
  const all = keys.map((key) =>
    mustAppend(store, key, [rawText('first')]).then(() => {
      if (key === keys.at(-1)) resolved.push('first');
      workFor(0.3);
    }),
  );
  const second = mustAppend(store, keys.at(-1)!, [rawText('second')]).then(() => void resolved.push('second'));
  await Promise.all([...all, second]);
  expect(resolved).toEqual(['first', 'second']);
  await store.close();
}, 30_000);

/** For each transaction, the number of events it added to sessions that were already open. */
const transactionsOf = async (workspace: WorkspaceId): Promise<readonly number[]> => {
  const rows = await askPostgres<{ count: number }>(
    database.adminUrl,
    'select count(*)::int as count from perdure.events where workspace = $1 and seq > 1 group by xmin::text order by count desc',
    workspace,
  );
  return rows.map(({ count }) => count);
};

const openMany = async (store: Store, count: number): Promise<readonly SessionKey[]> => {
  const workspace = newWorkspace();
  const keys = Array.from({ length: count }, () => newKey(workspace));
  await Promise.all(keys.map((key) => openSession(store, key)));
  return keys;
};

test('[LOG7] a transaction contains at most 256 waiting appends and at most 8 MiB', async () => {
  const store = await openPostgresStore({ url: database.url });
  const many = await openMany(store, 300);
  await Promise.all(many.map((key) => mustAppend(store, key, [rawText('a')])));
  expect(await transactionsOf(many[0]!.workspace)).toEqual([256, 44]);
  const large = await openMany(store, 3);
  const events = Array.from({ length: 256 }, (_, seed) => raw(noise(15_000, seed))); // 3.7 MiB
  await Promise.all(large.map((key) => mustAppend(store, key, [events[0]!, ...events.slice(1)])));
  expect(await transactionsOf(large[0]!.workspace)).toEqual([512, 256]);
  await store.close();
});

test('[KEY1, LOG7] two concurrent appends with the same key are both answered, within one transaction', async () => {
  const store = await openPostgresStore({ url: database.url });
  const [twice, other] = await openMany(store, 2);
  const outcomes = await Promise.all([
    ...[1, 2].map(() => append(store, twice!, [rawText('a')], { key: idempotencyKey('k', 'a') })),
    append(store, other!, [rawText('b')]),
  ]);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['appended', 'duplicate', 'appended']);
  expect(await transactionsOf(other!.workspace)).toEqual([2]);
  await store.close();
});

test.each([
  ['are cached', true],
  ['are read first', false],
])('[LOG7] a batch locks its sessions in id order, with heads that %s', async (_, isKnown) => {
  const store = await openPostgresStore({ url: database.url });
  const [low, high] = (await openMany(store, 2)).toSorted((a, b) => (a.session < b.session ? -1 : 1));
  const writer = isKnown ? store : await openPostgresStore({ url: database.url });
  const release = await hold(low!);
  const appends = [high!, low!].map((key) => mustAppend(writer, key, [rawText('a')]));
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await expect.poll(() => askPostgres(database.adminUrl, waiting)).not.toEqual([]);
  await askPostgres(database.adminUrl, 'select 1 from perdure.sessions where id = $1 for update nowait', high!.session);
  await release();
  await Promise.all(appends);
  await Promise.all([store.close(), isKnown || writer.close()]);
});

test('[LOG1] an append on a cached head sends one statement', async () => {
  const store = await openPostgresStore({ url: database.url });
  const [key] = await openMany(store, 1);
  const query = vi.spyOn(pg.Client.prototype, 'query');
  onTestFinished(() => query.mockRestore());
  await mustAppend(store, key!, [rawText('a')]);
  await mustAppend(store, key!, [rawText('b')]);
  await store.close();
  const names = query.mock.calls.map(([statement]) => (statement as unknown as { readonly name?: string }).name);
  expect(names.filter((name) => name !== 'perdure.notify')).toEqual(['perdure.append', 'perdure.append']);
});

test('[LOG7] a queue reports when it becomes empty', async () => {
  const options = { url: database.url, poolSize: 1, statementTimeoutMs: 5000, release: currentRelease() };
  await (await openPostgresStore(options)).close();
  const opened = new Database(options);
  const writeLog = await opened.use((client) => openWriteLog(client, opened));
  const onIdle = vi.fn();
  const { workspace, session } = newKey();
  const queue = new AppendQueue({
    database: opened,
    workspace,
    writeLog,
    known: new Map(),
    limited: new Set(),
    onCommit: () => undefined,
    onIdle,
  });
  const request = {
    workspace,
    session,
    writer: { kind: 'outside' },
    at: 1,
    events: [openedEvent()],
    creates: {},
  } as const;
  await queue.append(request);
  await expect.poll(() => onIdle.mock.calls.length).toBe(1);
  await opened.close();
});
