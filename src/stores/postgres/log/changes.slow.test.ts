import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { moduleUrl, runScript } from '../../../../test/support/cli/run-script.ts';
import { askPostgres } from '../../../../test/support/postgres/ask-postgres.ts';
import { newPgClient } from '../../../../test/support/postgres/pg-client.ts';
import { createDatabase, type TestDatabase } from '../../../../test/support/postgres/postgres.ts';
import type { RuntimeStore } from '../../../core/ports/runtime-store.ts';
import type { Store } from '../../../core/ports/store.ts';
import { newKey, newWorkspace } from '../../../testing/contract/contract-setup.ts';
import { rawText } from '../../../testing/contract/log/new-events.ts';
import { mustAppend, mustHead, openSession } from '../../../testing/contract/log/session-log.ts';
import { calling, enterSession, entryOf, foundIn, leaseAs } from '../../../testing/contract/queue/work-events.ts';
import { newWakeSignal } from '../../../testing/contract/waking/wake-signal.ts';
import { openPostgresStore } from '../index.ts';
import { channel, intervalMs } from '../server/notifier.ts';

const hourMs = 3_600_000;
let database: TestDatabase;
const stores: RuntimeStore[] = [];
beforeAll(async () => {
  database = await createDatabase();
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});
afterAll(() => database.drop());

const open = async (fallbackPollMs = hourMs): Promise<RuntimeStore> => {
  const store = await openPostgresStore({ url: database.url, fallbackPollMs });
  stores.push(store);
  return store;
};

const listeners = () =>
  askPostgres<{ pid: number }>(
    database.adminUrl,
    `select pid from pg_stat_activity where datname = current_database() and query like 'listen perdure;%'`,
  );

/** Follows the session. Resolves at the first wake-up, which happens when listening begins. */
const listening = async (store: Store, key: Parameters<Store['watch']>[0]) => {
  const signal = newWakeSignal();
  store.watch(key, signal.wake);
  await signal.next();
  return signal;
};

/** Listens with a separate client, and records all notifications. */
const hearing = async () => {
  const client = newPgClient(database.url);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`listen ${channel}`);
  const texts: string[] = [];
  const until = (text: string) =>
    new Promise<void>((resolve) => {
      if (texts.includes(text)) resolve();
      client.on('notification', ({ payload }) => payload === text && resolve());
    });
  client.on('notification', ({ payload = '' }) => texts.push(payload));
  return { texts, until };
};

/** When each of our connections last ran a query. */
const lastQueried = () =>
  askPostgres(
    database.adminUrl,
    `select pid, query_start from pg_stat_activity
     where datname = current_database() and application_name = 'perdure' order by pid`,
  );

const appender = (url: string, key: object): string => `
  import { openPostgresStore } from ${moduleUrl('src/stores/postgres/index.ts')};
  const store = await openPostgresStore({ url: ${JSON.stringify(url)} });
  const event = { type: 'custom.noted', version: 1, turn: 'current', actor: 'system', payload: new Uint8Array(3) };
  await store.append({ ...${JSON.stringify(key)}, writer: { kind: 'outside' }, at: 1, events: [event] });
  await store.close();
`;

describe('wake-ups', () => {
  test('[WAKE1] a commit by another process wakes a follower without polling', async () => {
    const store = await open();
    const key = newKey();
    await openSession(store, key);
    const signal = await listening(store, key);
    expect((await runScript(appender(database.url, key)).ended).said).toBe('');
    await signal.next();
    expect((await mustHead(store, key)).seq).toBe(2);
  });

  test('[WAKE1] a store uses one listening connection, and none before the first follower', async () => {
    const store = await open();
    const key = newKey();
    await openSession(store, key);
    expect(await listeners()).toHaveLength(0);
    await listening(store, key);
    await Promise.all([1, 2, 3].map(() => openSession(store, newKey())));
    store.watch(newKey(), () => undefined);
    expect(await listeners()).toHaveLength(1);
  });

  test('[WAKE4, WAKE11] a workspace watcher is notified of changes again after its connection was killed, including the changes it missed', async () => {
    const [store, other] = [await open(), await open()];
    const key = newKey();
    const heard = newWakeSignal();
    let newest = 0;
    store.watchWorkspace(key.workspace, (session, seq) => {
      if (session === key.session) newest = Math.max(newest, seq);
      heard.wake();
    });
    await openSession(other, key, { at: Date.now() });
    while (newest < 1) await heard.next();
    for (let round = 2; round < 5; round++) {
      for (const { pid } of await listeners()) {
        await askPostgres(database.adminUrl, 'select pg_terminate_backend($1, 5000)', pid);
      }
      await mustAppend(other, key, [rawText('missed or not')], { at: Date.now() });
      while (newest < round) await heard.next();
    }
  });

  test('[WAKE4] if notifications are lost, polling notifies a workspace watcher', async () => {
    const store = await open(20);
    const key = newKey();
    const heard = newWakeSignal();
    store.watchWorkspace(key.workspace, (session, seq) => session === key.session && seq === 2 && heard.wake());
    await openSession(store, key, { at: Date.now() });
    await askPostgres(
      database.adminUrl,
      `update perdure.sessions set seq = 2, summary = jsonb_set(summary::jsonb, '{seq}', '2')::text
       where id = '${key.session}'`,
    );
    await heard.next();
  });

  test('[WAKE2] a follower wakes again after its connection was killed, and finds what it missed', async () => {
    const [store, other] = [await open(), await open()];
    const key = newKey();
    await openSession(store, key);
    const signal = await listening(store, key);
    for (let round = 0; round < 3; round++) {
      for (const { pid } of await listeners()) {
        await askPostgres(database.adminUrl, 'select pg_terminate_backend($1, 5000)', pid);
      }
      const { head } = await mustAppend(other, key, [rawText('missed or not')]);
      while ((await mustHead(store, key)).seq < head.seq) await signal.next();
      await signal.next();
    }
  });

  test('[WAKE2] if a notification is lost, polling of the watched sessions wakes the follower', async () => {
    const store = await open(100);
    const key = newKey();
    await openSession(store, key);
    const signal = await listening(store, key);
    await askPostgres(
      database.adminUrl,
      `update perdure.sessions set seq = seq + 1 where workspace = $1 and id = $2`,
      key.workspace,
      key.session,
    );
    while ((await mustHead(store, key)).seq < 2) await signal.next();
    await signal.next();
  });

  test('[WAKE1, TEN1] a notification wakes only the followers of its workspace and session, and malformed ones are ignored', async () => {
    const store = await open();
    const key = newKey();
    const elsewhere = { ...key, workspace: newWorkspace() };
    const [mine, theirs] = [await listening(store, key), newWakeSignal()];
    store.watch(elsewhere, theirs.wake);
    for (const text of [
      '',
      'x',
      '//',
      `${elsewhere.workspace}/${elsewhere.session}`,
      `${key.workspace}/${key.session}/7`,
    ]) {
      await askPostgres(database.url, `select pg_notify('perdure', $1)`, text);
    }
    await mine.next();
    expect(theirs.count).toBe(0);
  });

  test('[WAKE7, WAKE4] false hints suppress no later wake-up, and a workspace watcher is notified only of events that exist', async () => {
    const [store, other] = [await open(), await open()];
    const key = newKey();
    await openSession(store, key);
    const follower = await listening(store, key);
    const heard: string[] = [];
    const hearing = newWakeSignal();
    store.watchWorkspace(key.workspace, (session, seq) => {
      heard.push(`${session} ${seq}`);
      hearing.wake();
    });
    const hint = (session: string, seq: string) =>
      askPostgres(database.url, `select pg_notify('perdure', $1)`, `${key.workspace}/${session}/${seq}`);
    for (const seq of ['9e15', '-1', 'x', '1e400', '2']) await hint(key.session, seq);
    await hint('nobody', '7');
    for (const writer of [other, store]) {
      await follower.next();
      const before = follower.count;
      const { head } = await mustAppend(writer, key, [rawText('x')]);
      while (follower.count === before) await follower.next();
      while (!heard.includes(`${key.session} ${head.seq}`)) await hearing.next();
      await hint(key.session, '9e15');
    }
    expect(new Set(heard)).toEqual(new Set([1, 2, 3].map((seq) => `${key.session} ${seq}`)));
  });

  test('[WAKE6] after the newest commits were lost, polling wakes followers for the commits that replace them', async () => {
    const store = await open(50);
    const key = newKey();
    await openSession(store, key);
    const signal = await listening(store, key);
    const moveHeadTo = async (seq: number) => {
      const before = signal.count;
      const move = 'update perdure.sessions set seq = $1 where workspace = $2 and id = $3';
      await askPostgres(database.adminUrl, move, seq, key.workspace, key.session);
      while (signal.count === before) await signal.next();
    };
    await mustAppend(store, key, [rawText('a'), rawText('b')]);
    for (const seq of [9, 2, 3]) await moveHeadTo(seq);
  });

  test('[WAKE1, ST3] closing a store at any moment while its listener connects causes no error', async () => {
    for (let afterMs = 0; afterMs < 15; afterMs++) {
      const store = await open();
      store.watch(newKey(), () => undefined);
      await pause(afterMs);
      await store.close();
    }
  });

  test('[QUEUE5] a worker wakes for new work and for released work without polling, and for nothing else', async () => {
    const [store, other, gone] = [await open(), await open(), await open()];
    const key = await enterSession(gone);
    await gone.close(); // closing flushes its notifications
    const signal = newWakeSignal();
    store.watchWork(key.workspace, signal.wake);
    await signal.next();
    await mustAppend(other, key, [rawText('x')]);
    await leaseAs(other, key, 'w1');
    await mustAppend(other, key, [calling()]);
    await signal.next();
    await other.finish(key, { worker: 'w1', seq: 2 });
    await signal.next();
    expect(signal.count).toBe(3);
    expect(await foundIn(store, key.workspace)).toEqual([entryOf(key, 4)]);
    expect(await listeners()).toHaveLength(1);
  });

  test('[QUEUE5] if a notification of free work is lost, polling of the queue wakes the worker', async () => {
    const store = await open(50);
    const key = await enterSession(store);
    await leaseAs(store, key, 'w1');
    const signal = newWakeSignal();
    store.watchWork(key.workspace, signal.wake);
    await signal.next();
    await askPostgres(
      database.adminUrl,
      'update perdure.work set visible_at = now() where workspace = $1',
      key.workspace,
    );
    await signal.next();
  });

  test('[WAKE1, NOTE4] many concurrent appends cause few notifications, and the last names the newest event', async () => {
    const store = await open();
    const key = newKey();
    await openSession(store, key);
    const heard = await hearing();
    const appends = 500;
    await Promise.all(Array.from({ length: appends }, (_, n) => mustAppend(store, key, [rawText(`${n}`)])));
    await heard.until(`${key.workspace}/${key.session}/${appends + 1}`);
    expect(heard.texts.length).toBeLessThan(appends / 10);
  });

  test('[WAKE1] consecutive appends cause at most one notification per interval', async () => {
    const store = await open();
    const key = newKey();
    await openSession(store, key);
    const heard = await hearing();
    const startMs = performance.now();
    for (let n = 0; n < 300; n++) await mustAppend(store, key, [rawText(`${n}`)]);
    const tookMs = performance.now() - startMs;
    await heard.until(`${key.workspace}/${key.session}/301`);
    const shortestMs = intervalMs - 1; // timers have millisecond resolution
    expect(heard.texts.length).toBeLessThanOrEqual(tookMs / shortestMs + 2);
  });

  test('[WAKE1] followers of idle sessions send no queries', async () => {
    const store = await open();
    const keys = Array.from({ length: 20 }, () => newKey());
    for (const key of keys) await openSession(store, key);
    await Promise.all(keys.map((key) => listening(store, key)));
    await store.head(keys[0]!);
    const before = await lastQueried();
    await pause(1000);
    expect(await lastQueried()).toEqual(before);
  });
});
