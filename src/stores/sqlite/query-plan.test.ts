import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { newId } from '../../schema/ids.ts';
import { newWorkspace } from '../../testing/contract/contract-setup.ts';
import { conditionsOf, isExact, planById, planWalks } from '../log/list-walks.ts';
import { currentRelease } from '../release.ts';
import { migrate } from './file/migrations.ts';
import { blobEvents } from './log/find-blob-events.ts';
import { callsOfSpan, callsOfWorkspace, callsWithInput } from './log/find-calls.ts';
import { commitsOfSpan, commitsOfWorkspace } from './log/find-commits.ts';
import { idQueries, walkQuery } from './log/list-sessions.ts';
import { recordQueries } from './log/record-rows.ts';
import { familyQuery } from './log/sessions.ts';
import { claimQueries } from './queue/claim-work.ts';

const workspace = newWorkspace();
const before = { at: 5_000, session: newId('ses'), seq: 5 };
const span = { session: newId('ses'), from: 10, to: 20 };

interface Query {
  readonly text: string;
  readonly values: SQLInputValue[];
}

const db = new DatabaseSync(':memory:');
migrate(db, ':memory:', currentRelease(), () => undefined);

/** The engine's query plan, without the steps over the keys of the page. */
const planOf = ({ text, values }: Query): readonly string[] => {
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
  return steps.map(({ detail }) => String(detail)).filter((step) => !/^(CO-ROUTINE|SCAN) \(subquery/.test(step));
};

/** The events of a page, and whether each came from a bundle. */
const events = [
  'SEARCH events USING INDEX events_by_seq (workspace=? AND session=? AND seq=?)',
  expect.stringMatching(/SCALAR SUBQUERY/),
  expect.stringMatching(/^SEARCH sessions USING .*\(workspace=\? AND id=\?\)$/),
];

describe('query plans', () => {
  test('[QRY5] commits by path prefix use the path index, and only those are sorted', () => {
    const asked = { prefix: '/filesModified/src~1auth.ts', limit: 200 };
    const expected = [
      'SEARCH commit_paths USING COVERING INDEX commit_paths_by_path (workspace=? AND path>? AND path<?)',
      'USE TEMP B-TREE FOR GROUP BY',
      ...events,
    ];
    expect(planOf(commitsOfWorkspace(workspace, asked))).toEqual(expected);
    expect(planOf(commitsOfWorkspace(workspace, { ...asked, since: 1_000, before }))).toEqual(expected);
    const [narrowed] = planOf(commitsOfWorkspace(workspace, { ...asked, tool: 'edit', provenance: ['human'] }));
    expect(narrowed).toBe('SEARCH commit_paths USING INDEX commit_paths_by_path (workspace=? AND path>? AND path<?)');
  });

  test('[QRY5] a query for the commits of a whole collection, or for all commits, scans by time without sorting', () => {
    for (const prefix of ['/filesModified', '', undefined]) {
      expect(planOf(commitsOfWorkspace(workspace, { prefix, limit: 200 }))).toEqual([
        'SEARCH commit_paths USING COVERING INDEX commit_paths_by_time (workspace=?)',
        ...events,
      ]);
      expect(planOf(commitsOfWorkspace(workspace, { prefix, since: 1_000, before, limit: 200 }))).toEqual([
        expect.stringMatching(/^SEARCH commit_paths USING COVERING INDEX commit_paths_by_time \(workspace=\? AND /),
        ...events,
      ]);
    }
  });

  test('[QRY5] commits by tool, actor or provenance need only the time index', () => {
    const asked = { tool: 'edit', actor: 'member:ann', provenance: ['human'] } as const;
    for (const name of ['tool', 'actor', 'provenance'] as const) {
      const plan = planOf(commitsOfWorkspace(workspace, { [name]: asked[name], limit: 200 }));
      expect(plan[0]).toBe('SEARCH commit_paths USING COVERING INDEX commit_paths_by_time (workspace=?)');
      expect(plan.filter((step) => /TEMP B-TREE|SCAN commit_paths/.test(step))).toEqual([]);
    }
  });

  test('[QRY5] a query of one session reads only its rows in the range', () => {
    for (const asked of [{ limit: 200 }, { prefix: '/filesModified', tool: 'edit', since: 1_000, limit: 200 }]) {
      expect(planOf(commitsOfSpan(workspace, span, asked, 200))).toEqual([
        'SEARCH commit_paths USING PRIMARY KEY (workspace=? AND session=? AND seq>? AND seq<?)',
        ...events,
      ]);
    }
    expect(planOf(callsOfSpan(workspace, span, { tool: 'edit', since: 1_000, limit: 200 }))).toEqual([
      'SEARCH tool_calls USING PRIMARY KEY (workspace=? AND session=? AND seq>? AND seq<?)',
    ]);
  });

  test('[GC1] events that name blobs are scanned along their partial index without sorting', () => {
    const planned = (asked: object) => planOf(blobEvents(workspace, { ...asked, limit: 200 }));
    const walk = 'SEARCH events USING INDEX events_naming_blobs';
    expect(planned({})).toEqual([`${walk} (workspace=?)`]);
    expect(planned({ after: before })).toEqual([`${walk} (workspace=? AND (session,seq)>(?,?))`]);
    expect(planned({ session: span.session })).toEqual([`${walk} (workspace=? AND session=?)`]);
    expect(planned({ session: span.session, after: before })).toEqual([
      `${walk} (workspace=? AND session=? AND seq>?)`,
    ]);
  });

  test('[QRY5] queries for the calls of a workspace use the index by tool, by actor, by time, or of running calls', () => {
    const planned = (asked: object) => planOf(callsOfWorkspace(workspace, { ...asked, limit: 200 }));
    expect(planned({})).toEqual(['SEARCH tool_calls USING INDEX tool_calls_by_time (workspace=?)']);
    expect(planned({ before })).toEqual([
      'SEARCH tool_calls USING INDEX tool_calls_by_time (workspace=? AND (at,session,seq)<(?,?,?))',
    ]);
    expect(planned({ status: ['running'] })[0]).toBe('SEARCH tool_calls USING INDEX tool_calls_open (workspace=?)');
    expect(planned({ actor: 'agent:coder', since: 1_000, until: 2_000 })).toEqual([
      'SEARCH tool_calls USING INDEX tool_calls_by_actor (workspace=? AND actor=? AND at>? AND at<?)',
    ]);
    expect(planned({ tool: 'edit', since: 1_000, until: 2_000 })).toEqual([
      'SEARCH tool_calls USING INDEX tool_calls_by_tool (workspace=? AND tool=? AND at>? AND at<?)',
    ]);
  });

  test('[HAP7] an earlier call of a family is found by root, tool and input, newest first, without sorting', () => {
    const plan = planOf(callsWithInput(workspace, span.session, { tool: 'refund', inputHash: 'f'.repeat(64) }));
    expect(plan).toEqual([
      'SEARCH tool_calls USING INDEX tool_calls_by_input (workspace=? AND root=? AND tool=? AND input_hash=?)',
    ]);
  });

  test('[FORK1] a family is found by its root, however many sessions there are', () => {
    const plan = planOf({ text: familyQuery, values: [workspace, span.session] });
    expect(plan.filter((step) => step.startsWith('SEARCH'))).toEqual([
      'SEARCH sessions USING PRIMARY KEY (workspace=? AND id=?)',
      'SEARCH sessions USING INDEX sessions_by_root (workspace=? AND root=?)',
    ]);
  });

  test('[LIST2] a listing walks along the index of values and sorts only within a span', () => {
    const agent = [{ name: 'agent', value: 'coder' }];
    for (const asked of [
      { limit: 50 },
      { limit: 50, status: ['open'] as const },
      {
        limit: 50,
        where: [agent],
        status: ['open'] as const,
        since: 1_000,
        after: { updatedAt: 5_000, id: span.session },
      },
    ]) {
      const plan = planWalks(asked, conditionsOf(asked), [5, 1]);
      for (const walk of plan.walks) {
        const steps = planOf(walkQuery(workspace, asked, plan, walk));
        expect(steps.filter((step) => / v /.test(step))).toEqual([
          expect.stringMatching(
            /^SEARCH v USING COVERING INDEX session_values_by_value \(workspace=\? AND name=\? AND value=\? AND level=\? AND /,
          ),
        ]);
        expect(steps.filter((step) => step.startsWith('SCAN'))).toEqual([]);
        const sorts = steps.filter((step) => step.includes('TEMP B-TREE'));
        expect(sorts).toEqual(isExact(walk) ? [] : ['USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY']);
      }
    }
  });

  test('[LIST3] a part of an id is found by the index of ids, or of their ends', () => {
    const asked = { limit: 10, by: 'id' as const, idPart: 'k3m9' };
    const plans = idQueries(workspace, asked, planById(asked)).map((query) => planOf(query)[0]);
    expect(plans).toEqual([
      'SEARCH sessions USING PRIMARY KEY (workspace=? AND id>? AND id<?)',
      'SEARCH sessions USING INDEX sessions_by_ending (workspace=? AND <expr>>? AND <expr><?)',
    ]);
  });

  test('[REC4] records are found by id or due time without sorting', () => {
    const { one, ...lists } = recordQueries;
    const planned = (text: string, values: SQLInputValue[]) =>
      planOf({ text, values: [workspace, 'audit', ...values] });
    const byId = 'SEARCH records USING INDEX sqlite_autoindex_records_1';
    expect(planned(one, ['a'])).toEqual([`${byId} (workspace=? AND kind=? AND id=?)`]);
    expect(planned(lists.ascending, ['a', 10])).toEqual([`${byId} (workspace=? AND kind=? AND id>?)`]);
    expect(planned(lists.descending, ['a', 10])).toEqual([`${byId} (workspace=? AND kind=? AND id<?)`]);
    expect(planned(lists.due, [5, 10])).toEqual([
      'SEARCH records USING INDEX records_due (workspace=? AND kind=? AND due_at<?)',
    ]);
  });

  test('[QUEUE13] every query of a claim uses an index and sorts no waiting work', () => {
    const plans = Object.entries(claimQueries).map(([name, text]) => [name, planOf({ text, values: [] })]);
    expect(Object.fromEntries(plans)).toEqual({
      own: ['SEARCH work USING INDEX work_by_worker (worker=?)'],
      firstDue: ['SEARCH work USING COVERING INDEX work_waiting (visible_at>? AND visible_at<?)'],
      markDue: ['SEARCH work USING INDEX work_waiting (visible_at>? AND visible_at<?)'],
      nextWorkspace: ['SEARCH work USING COVERING INDEX work_ready (agent=? AND workspace>?)'],
      ready: ['SEARCH work USING INDEX work_ready (agent=? AND workspace=?)'],
      one: ['SEARCH work USING INDEX sqlite_autoindex_work_1 (workspace=? AND session=?)'],
      nextAgent: ['SEARCH work USING COVERING INDEX work_stranded (agent>?)'],
      stranded: ['SEARCH work USING INDEX work_stranded (agent=?)'],
      heldIn: ['SEARCH work USING INDEX work_held (workspace=?)'],
      heldFor: ['SEARCH work USING INDEX work_by_worker (worker>?)'],
      heldBy: ['SEARCH work USING INDEX work_by_worker (worker=?)'],
      known: ['SCAN workers'],
      near: ['SEARCH work USING INDEX work_by_worker (worker>?)', 'USE TEMP B-TREE FOR DISTINCT'],
    });
  });
});
