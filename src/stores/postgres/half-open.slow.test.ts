import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createDatabase, type TestDatabase } from '../../../test/support/postgres/postgres.ts';
import { type PostgresProxy, startProxy } from '../../../test/support/postgres/postgres-proxy.ts';
import type { RuntimeStore } from '../../core/ports/runtime-store.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { rawText } from '../../testing/contract/log/new-events.ts';
import { mustAppend, mustHead, openSession } from '../../testing/contract/log/session-log.ts';
import { newWakeSignal } from '../../testing/contract/waking/wake-signal.ts';
import { openPostgresStore } from './index.ts';

const hourMs = 3_600_000;
let database: TestDatabase;
let proxy: PostgresProxy;
let writer: RuntimeStore;
beforeAll(async () => {
  database = await createDatabase();
  writer = await openPostgresStore({ url: database.url });
});
beforeEach(async () => {
  proxy = await startProxy(database.url);
});
afterEach(() => proxy.close());
afterAll(async () => {
  await writer.close();
  await database.drop();
});

const follow = async (store: RuntimeStore) => {
  const key = newKey();
  await openSession(writer, key);
  const signal = newWakeSignal();
  store.watch(key, signal.wake);
  await signal.next(); // listening has begun
  return { key, signal };
};

test('[WAKE8] a listening connection that goes silent is detected, and followers wake again', async () => {
  const store = await openPostgresStore({
    url: database.url,
    listenUrl: proxy.url,
    fallbackPollMs: hourMs,
    keepAliveMs: 100,
    onWarning: () => undefined,
  });
  const { key, signal } = await follow(store);
  for (let seq = 2; seq < 5; seq++) {
    const before = proxy.swallowing;
    proxy.mode = 'swallow';
    await mustAppend(writer, key, [rawText('missed')]);
    await expect.poll(() => proxy.swallowing, { timeout: 15_000 }).toBeGreaterThan(before);
    proxy.mode = 'pass';
    while ((await mustHead(store, key)).seq < seq) await signal.next();
    await signal.next();
  }
  await store.close();
});

test('[WAKE2] while the server is silent, the listener reconnects until it gets an answer', async () => {
  const store = await openPostgresStore({
    url: database.url,
    listenUrl: proxy.url,
    fallbackPollMs: hourMs,
    keepAliveMs: 50,
    onWarning: () => undefined,
  });
  const { key, signal } = await follow(store);
  proxy.mode = 'swallow';
  await expect.poll(() => proxy.swallowing, { timeout: 15_000 }).toBeGreaterThan(2);
  proxy.mode = 'pass';
  await signal.next();
  await mustAppend(writer, key, [rawText('heard')]);
  await signal.next();
  await store.close();
});

test('[ST3] closing a store takes bounded time while the server is silent', async () => {
  const store = await openPostgresStore({ url: proxy.url, fallbackPollMs: hourMs });
  await follow(store);
  proxy.mode = 'swallow';
  await store.close();
});
