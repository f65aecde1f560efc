import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newPgClient } from '../../../test/support/postgres/pg-client.ts';
import { createDatabase } from '../../../test/support/postgres/postgres.ts';
import type { ListQuery } from '../../core/ports/store.ts';
import type { SessionId } from '../../schema/ids.ts';
import { newWorkspace } from '../../testing/contract/contract-setup.ts';
import { conditionsOf, planById, planWalks } from '../log/list-walks.ts';
import { openPostgresStore } from './index.ts';
import { blobEvents } from './log/find-blob-events.ts';
import { callsOfSpans, callsOfWorkspace, callWithInput } from './log/find-calls.ts';
import { commitsOfSpans, commitsOfWorkspace } from './log/find-commits.ts';
import { idQuery, walkQuery } from './log/list-sessions.ts';

const database = await createDatabase();
const workspace = newWorkspace();
const sessionOf = (n: number): SessionId => `ses_${String(n).padStart(26, '0')}` as SessionId;

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly Node[];
}

const connected = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = newPgClient(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

const flat = (node: Node): readonly Node[] => [node, ...(node.Plans ?? []).flatMap(flat)];

/** The executed plan, for an ordinary role that row-level security binds. */
const planOf = ({ text, values }: pg.QueryConfig, of: string = workspace): Promise<readonly Node[]> =>
  connected(database.url, async (client) => {
    await client.query(`begin; set local perdure.workspace = '${of}'`);
    const { rows } = await client.query(`explain (analyze, format json) ${text}`, values);
    return flat(rows[0]['QUERY PLAN'][0].Plan);
  });

const scansOf = (plan: readonly Node[], table: string) => plan.filter((node) => node['Relation Name'] === table);

/**
 * SQL that creates sessions. Each turn has a call, and a commit that changes a file and a counter. The call of the
 * last turn is still running.
 */
const fill = (name: string, sessions: number): string => `
  insert into perdure.commit_paths
    select '${name}', session, t * 3, path, t, t * 1000 + s, case when is_rare then 'member:rare' else 'system' end,
      case when is_rare then 'rare' else 'edit' end, case when is_rare then 'human' else 'verified' end
    from ${turns(sessions)}, lateral (select s % 100 = 7 and t = 3 as is_rare) rare, unnest(array['/filesModified/src~1' || (s * 7 + t) % 1000 || '.ts', '/toolsUsed/edit']) path;
  insert into perdure.tool_calls
    select '${name}', session, t * 3 - 2, 'c' || t, case when t % 50 = 0 then 'rare' else 'edit' end,
      case when t < 100 then 'ok' else 'running' end, null, t, t * 1000 + s, case when s % 100 = 0 and t % 10 = 0 then 'agent:rare' else 'system' end,
      case when t < 100 then t * 3 - 1 end, 5, '', '', null, session
    from ${turns(sessions)};
  insert into perdure.events
    select '${name}', session, t * 3, t * 1000 + s, t, false, null, 'state.committed', 1, 'system', null, 3, '', ''
    from ${turns(sessions)};
`;
/** SQL that creates sessions which all changed in one minute: the first 200 in one wide span, the rest at exact places. */
const fillSessions = (name: string, sessions: number): string => `
  create temp table made as
    select 'ses_' || lpad(s::text, 26, '0') as id, s * 60000 / ${sessions} as at,
      case when s <= 200 then 0 else 2 end as level, case when s <= ${sessions} / 2 then 'old' else 'new' end as agent
    from generate_series(1, ${sessions}) s;
  insert into perdure.sessions (workspace, id, root, seq, hash, at, epoch, status, updated_at, summary)
    select '${name}', id, id, 1, '', at, 0, 'open', at, '{}' from made;
  insert into perdure.session_values (workspace, session, name, value, level, span)
    select '${name}', id, v.name, v.value, level, case level when 0 then at / 600000 else at end
    from made, lateral (values ('any', ''), ('status', 'open'), ('agent', agent)) v(name, value);
  drop table made;
`;
const turns = (sessions: number): string => `
  (select s, 'ses_' || lpad(s::text, 26, '0') as session from generate_series(1, ${sessions}) s) s,
  generate_series(1, 100) t`;

describe('query plans', () => {
  beforeAll(async () => {
    await (await openPostgresStore({ url: database.url })).close();
    await connected(database.adminUrl, async (client) => {
      await client.query(fill(workspace, 1_000));
      await client.query(fill(newWorkspace(), 20));
      await client.query('vacuum analyze perdure.commit_paths, perdure.tool_calls, perdure.events');
    });
  }, 120_000);
  afterAll(() => database.drop());

  test('[QRY5] commits by path prefix use the path index, in 1,000 sessions of 100 turns', async () => {
    const asked = { prefix: '/filesModified/src~177.ts', limit: 200 };
    const before = { at: 50_000, session: sessionOf(7), seq: 150 };
    for (const query of [asked, { ...asked, tool: 'edit', since: 1_000 }, { ...asked, before }]) {
      const plan = await planOf(commitsOfWorkspace(workspace, query));
      const paths = scansOf(plan, 'commit_paths');
      expect(paths.map((node) => node['Index Name'])).toEqual(['commit_paths_by_path']);
      expect(paths[0]!['Index Cond']).toMatch(/workspace = .* AND \(path >= .* AND \(path < /);
      expect(paths[0]!['Actual Rows']).toBeLessThanOrEqual(100);
      expect(scansOf(plan, 'events').map((node) => node['Index Name'])).toEqual(['events_pkey']);
    }
  });

  test('[QRY5] a query for the commits of a whole collection, or for all commits, scans by time and stops when the page is full', async () => {
    for (const prefix of ['/filesModified', '', undefined]) {
      const plan = await planOf(commitsOfWorkspace(workspace, { prefix, limit: 200 }));
      expect(plan.map((node) => node['Node Type'])).not.toContain('Sort');
      const [paths] = scansOf(plan, 'commit_paths');
      expect(paths).toMatchObject({ 'Index Name': 'commit_paths_by_time' });
      expect(paths!['Actual Rows']).toBeLessThanOrEqual(401);
    }
  });

  test('[QRY5] commits of a workspace by a rare tool, actor or provenance use the matching index', async () => {
    const asked = { tool: 'rare', actor: 'member:rare', provenance: ['human'] } as const;
    for (const name of ['tool', 'actor', 'provenance'] as const) {
      const plan = await planOf(commitsOfWorkspace(workspace, { [name]: asked[name], limit: 200 }));
      const used = plan.flatMap((node) => node['Index Name'] ?? []);
      expect(used, name).toContain(`commit_paths_by_${name}`);
      expect(plan.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    }
  });

  test('[QRY5] a query of one session reads only its rows in the range', async () => {
    const spans = [{ session: sessionOf(7), from: 286, to: 300 }];
    const asked = { prefix: '/filesModified', limit: 200 };
    const [paths, ...others] = scansOf(await planOf(commitsOfSpans(workspace, spans, asked)), 'commit_paths');
    expect(others).toEqual([]);
    expect(paths).toMatchObject({ 'Index Name': 'commit_paths_pkey', 'Actual Rows': 5 });
    expect(paths!['Index Cond']).toMatch(/session = .* AND \(seq >= .* AND \(seq <= /);
    const queried = { session: sessionOf(7), left: spans, live: [{ session: sessionOf(7), from: 1, to: 300 }] };
    for (const [status, rows] of [
      ['ok', 4],
      ['running', 1],
      ['interrupted', 0],
    ] as const) {
      const plan = await planOf(callsOfSpans(workspace, queried, { status: [status], limit: 200 }));
      const [calls, ...more] = scansOf(plan, 'tool_calls');
      expect(more).toEqual([]);
      expect(calls).toMatchObject({ 'Index Name': 'tool_calls_pkey', 'Actual Rows': rows });
      expect(calls!['Index Cond']).toMatch(/session = .* AND \(seq >= .* AND \(seq <= /);
    }
  });

  test.each([1_000, 20_000])(
    '[LIST2, LIST3] a listing among %d sessions that changed in one minute reads a bounded number of rows',
    async (count) => {
      const many = newWorkspace();
      await connected(database.adminUrl, async (client) => {
        await client.query(fillSessions(many, count));
        await client.query('vacuum analyze perdure.sessions, perdure.session_values');
      });
      const old = { name: 'agent', value: 'old' };
      const asks: readonly ListQuery[] = [
        { limit: 50 },
        { limit: 50, status: ['open', 'active'] },
        { limit: 50, status: ['archived'] },
        { limit: 50, where: [[old]] },
        { limit: 50, where: [[old]], status: ['active'] },
        { limit: 50, after: { updatedAt: 30_000, id: sessionOf(5) }, since: 10_000 },
      ];
      for (const asked of asks) {
        const conditions = conditionsOf(asked);
        const plan = planWalks(
          asked,
          conditions,
          conditions.map((_, place) => place),
        );
        const nodes = await planOf(walkQuery(many, asked, plan), many);
        expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
        const read = nodes
          .filter((node) => node['Relation Name'] !== undefined)
          .map((node) => node['Actual Rows'] * node['Actual Loops']);
        expect(Math.max(...read), JSON.stringify(asked)).toBeLessThanOrEqual(2_000);
      }
      const asked = { limit: 10, by: 'id' as const, idPart: '0123' };
      const nodes = await planOf(idQuery(many, asked, planById(asked)), many);
      const used = nodes.flatMap((node) => node['Index Name'] ?? []);
      expect(used).toEqual(['sessions_pkey', 'sessions_by_ending']);
    },
    60_000,
  );

  test('[GC1] events that name blobs are scanned along their partial index without sorting', async () => {
    await connected(database.adminUrl, async (client) => {
      await client.query(`update perdure.events set type = 'files.snapshotted' where seq = 150`);
      await client.query('vacuum analyze perdure.events');
    });
    const after = { session: sessionOf(7), seq: 150 };
    for (const [asked, rows] of [
      [{}, 200],
      [{ after }, 200],
      [{ session: sessionOf(7) }, 1],
    ] as const) {
      const plan = await planOf(blobEvents(workspace, { ...asked, limit: 200 }));
      expect(plan.map((node) => node['Node Type'])).not.toContain('Sort');
      expect(scansOf(plan, 'events')).toMatchObject([{ 'Index Name': 'events_naming_blobs', 'Actual Rows': rows }]);
    }
  });

  test('[HAP7] an earlier call of a family is found by root, tool and input', async () => {
    const key = { workspace, session: sessionOf(7) };
    const live = [{ session: sessionOf(7), from: 1, to: 300 }];
    const plan = await planOf(callWithInput(key, { tool: 'edit', inputHash: '', live: [] }, live));
    const [calls, ...more] = scansOf(plan, 'tool_calls');
    expect(more).toEqual([]);
    expect(calls!['Index Name']).toBe('tool_calls_by_input');
    expect(calls!['Index Cond']).toMatch(/workspace = .* AND \(root = .* AND \(tool = .* AND \(input_hash = /);
  });

  test('[QRY5] queries for the calls of a workspace use the index by tool, by actor, by time, or of running calls', async () => {
    const indexes = async (asked: object) => {
      const plan = await planOf(callsOfWorkspace(workspace, { ...asked, limit: 200 }));
      return scansOf(plan, 'tool_calls').map((node) => node['Index Name']);
    };
    expect(await indexes({})).toEqual(['tool_calls_by_time']);
    expect(await indexes({ tool: 'rare' })).toEqual(['tool_calls_by_tool']);
    expect(await indexes({ actor: 'agent:rare' })).toEqual(['tool_calls_by_actor']);
    expect(await indexes({ status: ['running'] })).toEqual(['tool_calls_open']);
  });
});
