import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { askPostgres } from '../../../test/ask-postgres.ts';
import { newPgClient } from '../../../test/pg-client.ts';
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts';
import type { Claim } from '../../core/ports/queue.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import { claimOf } from '../../testing/contract/work-events.ts';
import { openPostgresStore } from './index.ts';

let database: TestDatabase;
/** Of one connection, as an ordinary role: its plans are those that it made when there was hardly any work. */
let client: pg.Client;

interface Waiting {
  readonly workspaces: number;
  readonly agent?: string;
  readonly ready?: boolean;
  readonly visibleAt?: string;
}

const fill = ({ workspaces, agent = 'own@1', ready = true, visibleAt = 'now()' }: Waiting, rows: number) =>
  askPostgres(
    database.adminUrl,
    `insert into perdure.work (workspace, session, seq, agent, priority, visible_at, ready)
     select 'w' || n % ${workspaces}, 'ses_' || n, 2, '${agent}', 1, ${visibleAt}, ${ready}
     from generate_series(1, ${rows}) n`,
  );

/** Pages that a claim looks at, and how many sessions it would get. */
const claimed = async (about: Partial<Claim>): Promise<{ readonly pages: number; readonly taken: number }> => {
  const claim = JSON.stringify(claimOf('w1', { count: 4, agents: ['own@1'], ...about }));
  const asked = async (sql: string) => {
    await client.query(`begin; set local perdure.dispatch = 'on'`);
    const { rows } = await client.query(sql, [claim]).finally(() => client.query('rollback'));
    return Object.values(rows[0])[0] as never;
  };
  const { taken } = (await asked('select perdure.claim_work($1)')) as { readonly taken: readonly unknown[] };
  const [{ Plan: plan }] = (await asked('explain (analyze, buffers, format json) select perdure.claim_work($1)')) as [
    { readonly Plan: Record<string, number> },
  ];
  return { pages: plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!, taken: taken.length };
};

const limits = { perWorkspace: 100, perAgent: { 'own@1': 1000 } };
const claims: Record<string, Partial<Claim>> = {
  'of all workspaces': {},
  'of one workspace': { workspace: 'w0' as WorkspaceId },
  'of one session': {
    workspace: 'w0' as WorkspaceId,
    sessions: ['ses_5000' as SessionId],
  },
  'with limits': { limits },
  'of what is stranded': { strandedMs: 0 },
};

describe('what a claim costs', () => {
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
    'of one workspace': { workspaces: 1, taken: 4 },
    'of 200 workspaces': { workspaces: 200, taken: 4 },
    'of 5,000 workspaces': { workspaces: 5000, taken: 4 },
    'for another agent': { workspaces: 200, agent: 'other@1', taken: 0 },
    'for its time': { workspaces: 5000, ready: false, visibleAt: `now() + interval '1 day'`, taken: 0 },
    'no more, and is only remembered': { workspaces: 5000, ready: false, visibleAt: `'infinity'`, taken: 0 },
  };
  for (const [name, { taken, ...waiting }] of Object.entries(backlogs)) {
    test(`[QUEUE13] where 20,000 sessions wait ${name}, no claim looks at more than some hundred pages`, async () => {
      await fill({ workspaces: 1 }, 3);
      for (const about of Object.values(claims)) await claimed(about);
      await askPostgres(database.adminUrl, 'delete from perdure.work');
      await fill(waiting, 20_000);
      for (const [kind, about] of Object.entries(claims)) {
        const { pages, ...found } = await claimed(about);
        expect(pages, kind).toBeLessThan(800);
        if (kind === 'of all workspaces') expect(found).toEqual({ taken });
      }
    });
  }
});
