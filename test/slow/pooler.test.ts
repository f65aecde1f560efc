import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { newKey } from '../../src/testing/contract/contract-setup.ts';
import { expectSound, mustHead, openSession, textOf } from '../../src/testing/contract/log/session-log.ts';
import { newWakeSignal } from '../../src/testing/contract/waking/wake-signal.ts';
import { describeStoreContract } from '../../src/testing/describe-store-contract.ts';
import { moduleUrl, runScript } from '../support/cli/run-script.ts';
import { askPostgres } from '../support/postgres/ask-postgres.ts';
import { startPgbouncer } from '../support/postgres/pgbouncer.ts';
import { createDatabase } from '../support/postgres/postgres.ts';
import { postgresHarness } from '../support/postgres/postgres-harness.ts';

const database = await createDatabase();
/**
 * The pool is smaller than that of one store, so that a caller that waits for a second connection while it holds one
 * would block and be detected.
 */
const pooler = await startPgbouncer(database.url, 3);
const hourMs = 3_600_000;

const open = () => openPostgresStore({ url: pooler.url, listenUrl: database.url, fallbackPollMs: hourMs });

/** A program that appends `count` texts to each session, one after another. */
const appender = (name: string, keys: readonly object[], count: number): string => `
  import { openPostgresStore } from ${moduleUrl('src/stores/postgres/index.ts')};
  const store = await openPostgresStore({ url: ${JSON.stringify(pooler.url)} });
  await Promise.all(${JSON.stringify(keys)}.map(async (key) => {
    for (let n = 0; n < ${count}; n++) {
      const payload = new TextEncoder().encode('${name} ' + n);
      const event = { type: 'custom.noted', version: 1, turn: 'current', actor: 'system', payload };
      const { outcome } = await store.append({ ...key, writer: { kind: 'outside' }, at: 1, events: [event] });
      if (outcome !== 'appended') throw new Error(outcome);
    }
  }));
  await store.close();
`;

test('[ST6, ST12, WAKE1] processes behind a transaction pooler append each event once, and followers receive all hints over the second URL', async () => {
  const store = await open();
  const keys = [newKey(), newKey(), newKey()];
  for (const key of keys) await openSession(store, key);
  const [names, count] = [['a', 'b', 'c'], 40];
  const followers = keys.map(async (key) => {
    const signal = newWakeSignal();
    store.watch(key, signal.wake);
    while ((await mustHead(store, key)).seq < 1 + names.length * count) await signal.next();
  });
  const processes = names.map((name) => runScript(appender(name, keys, count)));
  for (const { ended } of processes) expect(await ended).toEqual({ code: 0, said: '' });
  await Promise.all(followers);
  for (const key of keys) {
    const texts = (await expectSound(store, key)).slice(1).map(textOf);
    for (const name of names) {
      expect(texts.filter((text) => text.startsWith(name))).toEqual(
        Array.from({ length: count }, (_, n) => `${name} ${n}`),
      );
    }
  }
  const [{ connections }] = (await askPostgres<{ connections: number }>(
    database.adminUrl,
    `select count(*)::int as connections from pg_stat_activity
     where datname = current_database() and application_name = 'perdure' and query not like 'listen perdure;%'`,
  )) as [{ connections: number }];
  expect(connections).toBeLessThanOrEqual(3);
  await store.close();
});

test('[ST12] opening a store leaves no prepared statement on a shared connection', async () => {
  const store = await open();
  await openSession(store, newKey());
  const leftBehind = await askPostgres(pooler.url, `select from pg_prepared_statements where name like 'perdure.%'`);
  expect(leftBehind).toEqual([]);
  await store.close();
});

test('[ST11] without a second URL the first follower causes a warning, and followers fall back to slow polling', async () => {
  const warnings: Error[] = [];
  const store = await openPostgresStore({
    url: pooler.url,
    fallbackPollMs: 100,
    onWarning: (problem) => warnings.push(problem),
  });
  const key = newKey();
  await openSession(store, key);
  expect(warnings).toEqual([]);
  const signal = newWakeSignal();
  for (let followers = 0; followers < 2; followers++) store.watch(key, signal.wake);
  expect(warnings).toMatchObject([{ message: expect.stringContaining('PERDURE_LISTEN_URL') }]);
  expect(await runScript(appender('a', [key], 1)).ended).toEqual({ code: 0, said: '' });
  while ((await mustHead(store, key)).seq < 2) await signal.next();
  await store.close();
});

const followBy = async (listenUrl: string) => {
  const warnings: string[] = [];
  const store = await openPostgresStore({
    url: pooler.url,
    listenUrl,
    fallbackPollMs: hourMs,
    keepAliveMs: 500,
    onWarning: ({ message }) => warnings.push(message),
  });
  onTestFinished(() => store.close());
  const [key, signal] = [newKey(), newWakeSignal()];
  await openSession(store, key);
  store.watch(key, signal.wake);
  await signal.next(); // the follower now listens
  return { warnings, key, signal };
};

test('[ST6] a second URL that leads to a transaction pooler too causes a warning', async () => {
  const { warnings } = await followBy(pooler.url);
  await expect
    .poll(() => warnings, { timeout: 15_000 })
    .toEqual([expect.stringMatching(/^PERDURE_LISTEN_URL .* leads to a pooler .* Name the server itself/)]);
});

test('[ST6] a second URL may lead to a session pooler', async () => {
  const bySession = await startPgbouncer(database.url, 3, 'session');
  onTestFinished(() => bySession.close());
  const { warnings, key, signal } = await followBy(bySession.url);
  expect(await runScript(appender('a', [key], 1)).ended).toEqual({ code: 0, said: '' });
  await signal.next();
  await pause(1000); // longer than a hint can take
  expect(warnings).toEqual([]);
});

describeStoreContract('PostgreSQL behind pgbouncer', postgresHarness(database, open, pooler.close));
