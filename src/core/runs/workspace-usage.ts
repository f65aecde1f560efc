import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { MemberId, SessionId, type WorkspaceId } from '../../schema/ids.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { type UsageGroup, type UsageReport, type UsageRow, usageGroups } from '../../schema/views/usage.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { ChargeGroup, ChargeGroupSum, ChargeQuery } from '../ports/charges.ts';
import { addAmounts, amountsOf, inheritedBy, noAmounts } from './usage.ts';

export interface UsageQuery {
  /** What the calls of a row share, by default the session. Days and months are those of UTC. */
  readonly by?: UsageGroup | undefined;
  /** The time range. Both ends are included. */
  readonly since?: Date | number | undefined;
  readonly until?: Date | number | undefined;
  /** Only calls of this session itself. */
  readonly session?: string | undefined;
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
  /** Only calls of runs that this member requested. */
  readonly member?: string | undefined;
  /** The maximum number of rows, by default 100. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

const Time = z.union([z.date(), z.number()]).transform(Number).pipe(z.int());
const Query = z.strictObject({
  by: z.enum(usageGroups).default('session'),
  since: Time.optional(),
  until: Time.optional(),
  session: SessionId.optional(),
  agent: Text.max(100).optional(),
  model: Text.max(200).optional(),
  member: MemberId.optional(),
  limit: z.int().min(1).max(1000).default(100),
  cursor: z.string().max(300).optional(),
});

type Access = Pick<LogAccess, 'store' | 'workspace'>;

/** A cursor names its grouping, so that a listing by another one rejects it. */
const parseCursor = (cursor: string | undefined, by: UsageGroup): string | undefined => {
  if (cursor === undefined) return undefined;
  if (cursor.startsWith(`${by}:`)) return cursor.slice(by.length + 1);
  throw new PerdureError(
    'INVALID_INPUT',
    'the cursor does not come from this listing of usage: leave it out to start over',
  );
};

const rowOf = (by: ChargeGroup, { key, calls, own, children }: ChargeGroupSum): UsageRow => ({
  ...(key !== '' && { key }),
  calls,
  own: amountsOf(own),
  ...((by === 'run' || by === 'session') && { children: amountsOf(children) }),
});

const withInherited = async (access: Access, row: UsageRow, when: ChargeQuery): Promise<UsageRow> => ({
  ...row,
  inherited: await inheritedBy(access, row.key as SessionId, when),
});

const totalOf = async ({ store, workspace }: Access, filter: ChargeQuery): Promise<UsageReport['total']> => {
  const { calls, own } = await store.sumCharges(workspace, filter);
  return { calls, ...amountsOf(own) };
};

/**
 * The usage of the workspace by one group. A total counts each model call once: what a fork inherited and what a
 * subagent used is counted in the session that made the calls.
 */
export const reportUsage = async (access: Access, query: UsageQuery = {}): Promise<UsageReport> => {
  const { by, limit, cursor, ...filter } = parseInput('the query', Query, query);
  const after = parseCursor(cursor, by);
  const total = await totalOf(access, filter);
  if (by === 'workspace')
    return { by, rows: after === undefined ? [workspaceRow(access.workspace, total)] : [], total };
  const found = await access.store.groupCharges(access.workspace, { ...filter, by, limit: limit + 1, after });
  const page = found.slice(0, limit);
  const rows = page.map((sum) => rowOf(by, sum));
  const { since, until } = filter;
  return {
    by,
    rows: by === 'session' ? await Promise.all(rows.map((row) => withInherited(access, row, { since, until }))) : rows,
    total,
    ...(found.length > limit && { cursor: `${by}:${page.at(-1)!.key}` }),
  };
};

const workspaceRow = (workspace: WorkspaceId, { calls, ...own }: UsageReport['total']): UsageRow => ({
  key: workspace,
  calls,
  own,
});

/** The usage of each of these workspaces that used anything. */
export const reportWorkspaces = async (
  access: Pick<LogAccess, 'store'>,
  workspaces: readonly WorkspaceId[],
  query: UsageQuery,
): Promise<UsageReport> => {
  const { by, limit, cursor, ...filter } = parseInput('the query', Query, query);
  const after = parseCursor(cursor, by);
  const all: UsageRow[] = [];
  for (const workspace of workspaces) {
    const total = await totalOf({ ...access, workspace }, filter);
    if (total.calls > 0) all.push(workspaceRow(workspace, total));
  }
  const total = all.reduce((sum, { calls, own }) => ({ calls: sum.calls + calls, ...addAmounts(sum, own) }), {
    calls: 0,
    ...noAmounts,
  });
  const rest = after === undefined ? all : all.filter(({ key }) => key! > after);
  const rows = rest.slice(0, limit);
  return { by, rows, total, ...(rest.length > limit && { cursor: `${by}:${rows.at(-1)!.key}` }) };
};
