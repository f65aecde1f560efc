import type pg from 'pg';
import type { Claim } from '../../../src/core/ports/queue.ts';
import type { SessionId, WorkspaceId } from '../../../src/schema/ids.ts';
import { claimOf } from '../../../src/testing/contract/queue/work-events.ts';
import { askPostgres } from '../postgres/ask-postgres.ts';

export interface Waiting {
  readonly workspaces: number;
  readonly agent?: string;
  readonly ready?: boolean;
  readonly visibleAt?: string;
}

export const fillQueue = (
  adminUrl: string,
  { workspaces, agent = 'own@1', ready = true, visibleAt = 'now()' }: Waiting,
  rows: number,
) =>
  askPostgres(
    adminUrl,
    `insert into perdure.work (workspace, session, seq, agent, priority, visible_at, ready)
     select 'w' || n % ${workspaces}, 'ses_' || n, 2, '${agent}', 1, ${visibleAt}, ${ready}
     from generate_series(1, ${rows}) n`,
  );

/** Counts the database pages that a claim reads and the sessions that it would return. */
export const claimCost = async (
  client: pg.Client,
  about: Partial<Claim>,
): Promise<{ readonly pages: number; readonly taken: number }> => {
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
export const kindsOfClaims: Record<string, Partial<Claim>> = {
  'of all workspaces': {},
  'of one workspace': { workspace: 'w0' as WorkspaceId },
  'of one session': {
    workspace: 'w0' as WorkspaceId,
    sessions: ['ses_5000' as SessionId],
  },
  'with limits': { limits },
  'of stranded sessions': { strandedMs: 0 },
};
