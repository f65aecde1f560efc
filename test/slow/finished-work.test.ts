import { expect, test } from 'vitest';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { askPostgres } from '../support/postgres/ask-postgres.ts';
import { newPgClient } from '../support/postgres/pg-client.ts';
import { createOnlyDatabase, startPostgres } from '../support/postgres/start-postgres.ts';
import { claimCost, fillQueue, kindsOfClaims } from '../support/runs/claim-cost.ts';

test('[QUEUE13] after 20,000 finished sessions, before any vacuum, a claim reads at most 50 pages or three times as many as before', async ({
  onTestFinished,
}) => {
  // Uses a separate server: on a shared one, open transactions keep dead rows visible, and PostgreSQL scans them
  // every time.
  const postgres = await startPostgres();
  onTestFinished(() => postgres.close());
  const url = await createOnlyDatabase(postgres);
  await (await openPostgresStore({ url })).close();
  const adminUrl = Object.assign(new URL(postgres.adminUrl), { pathname: '/app' }).href;
  const client = newPgClient(url);
  await client.connect();
  onTestFinished(() => client.end());
  const costs = async (): Promise<readonly number[]> => {
    const pages: number[] = [];
    for (const about of Object.values(kindsOfClaims)) pages.push((await claimCost(client, about)).pages);
    return pages;
  };
  await askPostgres(adminUrl, 'alter table perdure.work set (autovacuum_enabled = off)');
  await fillQueue(adminUrl, { workspaces: 3 }, 20_000);
  const before = await costs();
  for (let lot = 0; lot < 10; lot++) {
    const ofLot = `where right(session, 1) = '${lot}'`;
    const taken = `set ready = false, visible_at = now() + interval '1 day', worker = 'w2'`;
    await askPostgres(adminUrl, `update perdure.work ${taken} ${ofLot}`);
    await askPostgres(adminUrl, `delete from perdure.work ${ofLot}`);
    await claimCost(client, {});
  }
  await fillQueue(adminUrl, { workspaces: 3 }, 10);
  const after = await costs();
  const most = before.map((pages) => Math.max(3 * pages, 50));
  expect(after.filter((pages, kind) => pages > most[kind]!)).toEqual([]);
});
