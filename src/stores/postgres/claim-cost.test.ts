import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { askPostgres } from '../../../test/support/postgres/ask-postgres.ts';
import { newPgClient } from '../../../test/support/postgres/pg-client.ts';
import { createDatabase, type TestDatabase } from '../../../test/support/postgres/postgres.ts';
import { claimCost, fillQueue, kindsOfClaims, type Waiting } from '../../../test/support/runs/claim-cost.ts';
import { openPostgresStore } from './index.ts';

let database: TestDatabase;
/** One connection with an ordinary role. It keeps the query plans that it made while the queue was almost empty. */
let client: pg.Client;

describe('cost of a claim', () => {
  beforeEach(async () => {
    database = await createDatabase();
    await (await openPostgresStore({ url: database.url })).close();
    client = newPgClient(database.url);
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  const backlogs: Record<string, Waiting & { readonly taken: number }> = {
    'sessions in one workspace': { workspaces: 1, taken: 4 },
    'sessions in 200 workspaces': { workspaces: 200, taken: 4 },
    'sessions in 5,000 workspaces': { workspaces: 5000, taken: 4 },
    'sessions of another agent': { workspaces: 200, agent: 'other@1', taken: 0 },
    'sessions that are not due yet': {
      workspaces: 5000,
      ready: false,
      visibleAt: `now() + interval '1 day'`,
      taken: 0,
    },
    'finished sessions with a remembered place': { workspaces: 5000, ready: false, visibleAt: `'infinity'`, taken: 0 },
  };
  for (const [name, { taken, ...waiting }] of Object.entries(backlogs)) {
    test(`[QUEUE13] a claim reads fewer than 800 pages from a queue of 20,000 ${name}`, async () => {
      await fillQueue(database.adminUrl, { workspaces: 1 }, 3);
      for (const about of Object.values(kindsOfClaims)) await claimCost(client, about);
      await askPostgres(database.adminUrl, 'delete from perdure.work');
      await fillQueue(database.adminUrl, waiting, 20_000);
      for (const [kind, about] of Object.entries(kindsOfClaims)) {
        const { pages, ...found } = await claimCost(client, about);
        expect(pages, kind).toBeLessThan(800);
        if (kind === 'of all workspaces') expect(found).toEqual({ taken });
      }
    });
  }
});
