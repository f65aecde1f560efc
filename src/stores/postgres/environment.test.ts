import { afterEach, expect, test, vi } from 'vitest';
import { createDatabase } from '../../../test/support/postgres/postgres.ts';
import { startProxy } from '../../../test/support/postgres/postgres-proxy.ts';
import { openRuntime } from '../../runtime.ts';
import { openPostgresStore } from './index.ts';

afterEach(() => vi.unstubAllEnvs());

test('[ST6] a runtime listens only through PERDURE_LISTEN_URL when it is set', async () => {
  const database = await createDatabase();
  const [asked, listenedTo] = [await startProxy(database.url), await startProxy(database.url)];
  vi.stubEnv('PERDURE_LISTEN_URL', listenedTo.url);
  const runtime = await openRuntime({ store: asked.url });
  const session = await runtime.sessions.open();
  expect(listenedTo.connections).toBe(0);
  const following = session.events({ follow: true })[Symbol.asyncIterator]();
  await following.next();
  await expect.poll(() => listenedTo.connections, { timeout: 15_000 }).toBe(1);
  await following.return?.();
  await runtime.close();
  for (const proxy of [asked, listenedTo]) await proxy.close();
  await database.drop();
});

const nowhere = 'postgres://nobody@localhost:1/none';
const refused = (message: string) => ({ code: 'INVALID_INPUT', message });

test.each([0, -1, 1.5, 1001, 1e20, Number.NaN])('[ST7] a poolSize of %d is rejected', async (poolSize) => {
  await expect(openPostgresStore({ url: nowhere, poolSize })).rejects.toMatchObject(
    refused(`poolSize must be a whole number from 1 to 1000, such as 8; got "${poolSize}"`),
  );
});

test.each(['abc', '0', '1.5', '1001', '1e20'])(
  '[ST7] PERDURE_POOL_SIZE=%s is rejected under that name',
  async (given) => {
    vi.stubEnv('PERDURE_POOL_SIZE', given);
    await expect(openRuntime({ store: nowhere })).rejects.toMatchObject(
      refused(`PERDURE_POOL_SIZE must be a whole number from 1 to 1000, such as 8; got "${given}"`),
    );
  },
);

test.each(['statementTimeoutMs', 'fallbackPollMs', 'keepAliveMs'])(
  '[IN1] a %s that is not a whole number of at least 1 is rejected',
  async (name) => {
    for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, -1, 0, 0.5, '5']) {
      await expect(openPostgresStore({ url: nowhere, [name]: ms })).rejects.toMatchObject(
        refused(`${name} must be a whole number of milliseconds, at least 1; got "${ms}"`),
      );
    }
  },
);
