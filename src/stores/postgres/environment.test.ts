import { afterEach, expect, test, vi } from 'vitest';
import { createDatabase } from '../../../test/postgres.ts';
import { startProxy } from '../../../test/postgres-proxy.ts';
import { openRuntime } from '../../runtime.ts';
import { openPostgresStore } from './index.ts';

afterEach(() => vi.unstubAllEnvs());

test('[ST6] a runtime listens by PERDURE_LISTEN_URL, and by nothing else', async () => {
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

test('[IN1] a number of connections that is none is refused, also in PERDURE_POOL_SIZE', async () => {
  const url = 'postgres://nobody@localhost:1/none';
  for (const poolSize of [0, -1, 1.5, Number.NaN]) {
    await expect(openPostgresStore({ url, poolSize })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  }
  vi.stubEnv('PERDURE_POOL_SIZE', 'many');
  await expect(openRuntime({ store: url })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('poolSize'),
  });
});
