import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createDatabase, type TestDatabase } from '../../../../test/support/postgres/postgres.ts';
import { startProxy } from '../../../../test/support/postgres/postgres-proxy.ts';
import { freePort } from '../../../../test/support/servers/free-port.ts';
import type { RuntimeStore } from '../../../core/ports/runtime-store.ts';
import { openRuntime } from '../../../runtime.ts';
import { newKey } from '../../../testing/contract/contract-setup.ts';
import { rawText } from '../../../testing/contract/log/new-events.ts';
import { mustAppend, openSession } from '../../../testing/contract/log/session-log.ts';
import { newWakeSignal } from '../../../testing/contract/waking/wake-signal.ts';
import { openPostgresStore } from '../index.ts';

const hourMs = 3_600_000;
let database: TestDatabase;
let writer: RuntimeStore;
beforeAll(async () => {
  database = await createDatabase();
  writer = await openPostgresStore({ url: database.url });
});
afterEach(() => vi.unstubAllEnvs());
afterAll(async () => {
  await writer.close();
  await database.drop();
});

const changed = (change: Partial<URL>) => Object.assign(new URL(database.url), change).href;

const newProxy = async () => {
  const proxy = await startProxy(database.url);
  onTestFinished(() => proxy.close());
  return proxy;
};

/** Opens a store with a follower, so that it needs hints. */
const follow = async (listenUrl: string, url = database.url) => {
  const warnings: string[] = [];
  const store = await openPostgresStore({
    url,
    listenUrl,
    fallbackPollMs: hourMs,
    keepAliveMs: 100,
    onWarning: ({ message }) => warnings.push(message),
  });
  onTestFinished(() => store.close());
  const [key, signal] = [newKey(), newWakeSignal()];
  await openSession(writer, key);
  store.watch(key, signal.wake);
  const hears = async () => {
    await signal.next(); // listening has begun
    await mustAppend(writer, key, [rawText('heard')]);
    await signal.next();
  };
  return { warnings, hears };
};

test.each(['nonsense', 'http://foo', 'postgres://ann:s3cr3t@localhost:99999/none'])(
  '[ST11, ST18] PERDURE_LISTEN_URL=%s is rejected before any connection is made',
  async (listenUrl) => {
    vi.stubEnv('PERDURE_LISTEN_URL', listenUrl);
    const { code, message } = await openRuntime({ store: 'postgres://nobody@localhost:1/none' }).catch(
      (error) => error,
    );
    expect(code).toBe('INVALID_INPUT');
    expect(message).toMatch(/^PERDURE_LISTEN_URL \(listenUrl\) is not .*: write one such as postgres:\/\//);
    expect(message).not.toContain('s3cr3t');
  },
);

test.each([
  ['with a wrong password', async () => changed({ password: 's3cr3t' }), /refused the role: check the user, password/],
  ['with a closed port', async () => changed({ port: `${await freePort()}` }), /cannot be reached: check/],
  ['with a missing database', async () => changed({ pathname: '/none' }), /there is no database none: create it/],
])('[ST11] a listen URL %s causes a warning that says what to do', async (_, listenUrl, said) => {
  const { warnings } = await follow(await listenUrl());
  await expect.poll(() => warnings, { timeout: 15_000 }).toEqual([expect.stringMatching(said)]);
  expect(warnings[0]).toMatch(/^check PERDURE_LISTEN_URL .* every 3600000 ms\.$/);
  expect(warnings[0]).not.toContain('s3cr3t');
});

test('[ST6] a listen URL that leads to another database, so that no hints arrive, causes a warning', async () => {
  const other = await createDatabase();
  onTestFinished(() => other.drop());
  const { warnings } = await follow(other.url);
  await expect
    .poll(() => warnings, { timeout: 15_000 })
    .toEqual([expect.stringMatching(/^PERDURE_LISTEN_URL .* another database: .* Name the server itself/)]);
});

test('[ST11] a broken listen URL causes one warning, and another only after it worked in between', async () => {
  const proxy = await newProxy();
  proxy.mode = 'refuse';
  const { warnings, hears } = await follow(proxy.url);
  for (const count of [1, 2]) {
    await expect.poll(() => warnings.length, { timeout: 15_000 }).toBe(count);
    const before = proxy.connections;
    await expect.poll(() => proxy.connections, { timeout: 15_000 }).toBeGreaterThan(before);
    expect(warnings).toHaveLength(count);
    proxy.mode = 'pass';
    await hears();
    proxy.mode = 'refuse';
  }
});

test('[ST6] a server outage is not reported as a wrong listen URL', async () => {
  const [asked, listenedTo] = [await newProxy(), await newProxy()];
  const { warnings, hears } = await follow(listenedTo.url, asked.url);
  await hears();
  for (const proxy of [asked, listenedTo]) proxy.mode = 'refuse';
  const before = listenedTo.connections;
  await expect.poll(() => listenedTo.connections, { timeout: 15_000 }).toBeGreaterThan(before + 3);
  for (const proxy of [asked, listenedTo]) proxy.mode = 'pass';
  await hears();
  expect(warnings).toEqual([]);
});
