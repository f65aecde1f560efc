import { afterAll, beforeAll, expect, test } from 'vitest';
import { newPgClient } from '../../../test/pg-client.ts';
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts';
import type { SessionKey } from '../../core/ports/store.ts';
import { newKey, newWorkspace } from '../../testing/contract/contract-setup.ts';
import { rawText } from '../../testing/contract/new-events.ts';
import { mustAppend, openSession } from '../../testing/contract/session-log.ts';
import { openPostgresStore } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** No append to the session gets through until it is let go of. */
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

test('[LOG7] of a batch that failed, what lands by itself is told before the rest of it is tried', async () => {
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

test('[LOG1] appends to one session that are under way at once are told in their order, however many others are told with them', async () => {
  const store = await openPostgresStore({ url: database.url });
  const workspace = newWorkspace();
  const keys = Array.from({ length: 256 }, () => newKey(workspace));
  await Promise.all(keys.map((key) => openSession(store, key)));
  const told: string[] = [];
  const all = keys.map((key) =>
    mustAppend(store, key, [rawText('first')]).then(() => {
      if (key === keys.at(-1)) told.push('first');
      workFor(0.3);
    }),
  );
  const second = mustAppend(store, keys.at(-1)!, [rawText('second')]).then(() => void told.push('second'));
  await Promise.all([...all, second]);
  expect(told).toEqual(['first', 'second']);
  await store.close();
}, 30_000);
