import { afterAll, expect, test } from 'vitest';
import { defineAgent, defineScript, openRuntime } from '../../src/index.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { describeStoreContract } from '../../src/testing/describe-store-contract.ts';
import { askPostgres } from '../support/postgres/ask-postgres.ts';
import { startDebianPostgres } from '../support/postgres/debian-postgres.ts';
import { postgresHarness } from '../support/postgres/postgres-harness.ts';
import { createOnlyDatabase } from '../support/postgres/start-postgres.ts';

const server = await startDebianPostgres();
const url = await createOnlyDatabase(server);
const adminUrl = Object.assign(new URL(server.adminUrl), { pathname: '/app' }).href;
afterAll(() => server.close());

test('[ST22] runs, listings, verification and garbage collection work on the PostgreSQL of Debian', async () => {
  await askPostgres(server.adminUrl, 'create database runs owner app');
  const agent = defineAgent({ name: 'greeter', model: defineScript({ steps: [{ text: 'hello' }] }) });
  const store = Object.assign(new URL(url), { pathname: '/runs' }).href;
  const runtime = await openRuntime({ store, agents: [agent] });
  const session = await runtime.sessions.open({ agent, metadata: { ticket: 'OPS-1' } });
  expect(await (await session.send('hi')).result()).toMatchObject({ status: 'succeeded' });
  expect(await session.verify()).toMatchObject({ ok: true });
  const { sessions } = await runtime.sessions.list({ metadata: { ticket: 'OPS-1' }, runStatus: 'succeeded' });
  expect(sessions.map(({ id }) => id)).toEqual([session.id]);
  await runtime.gc();
  await runtime.close();
});

describeStoreContract(
  `PostgreSQL ${server.release} of Debian`,
  postgresHarness({ url, adminUrl, drop: async () => undefined }, () => openPostgresStore({ url })),
);
