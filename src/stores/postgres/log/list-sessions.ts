import type pg from 'pg';
import type { SessionValue, ValueConditions } from '../../../core/ports/session-value.ts';
import type { ListedSessions, ListQuery } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import {
  beyond,
  type ChosenPage,
  conditionsOf,
  isExact,
  type ListPlan,
  leastEnding,
  maxCounted,
  mergeWalks,
  pageOf,
  planById,
  planWalks,
  positionOf,
  reversed,
  sinceOf,
  type Walk,
  type WalkedRow,
} from '../../log/list-walks.ts';
import { QueryText } from '../../log/query-text.ts';
import type { HeadRow } from '../../log/stored-head.ts';
import { listedSummary } from '../../log/stored-summary.ts';
import { type Database, prepared } from '../server/database.ts';

const least = '-9223372036854775808';
const greatest = '9223372036854775807';

/** A bigint parameter. Infinities become the ends of its range. */
const bigint = (value: number): number | string => {
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  return value > 0 ? greatest : least;
};

const isAny = (query: QueryText, any: readonly SessionValue[]): string =>
  any.map(({ name, value }) => `name = ${query.place(name)} and value = ${query.place(value)}`).join(' or ') || 'false';

/** An expression that tells whether the session in the column `k.id` meets the conditions. */
const fits = (query: QueryText, checks: ValueConditions): string =>
  checks
    .map(
      (any) =>
        `exists (select from perdure.session_values where workspace = $1 and session = k.id and (${isAny(query, any)}))`,
    )
    .join(' and ') || 'true';

const placeWalks = (query: QueryText, walks: readonly Walk[], first: number): string =>
  `unnest(${[
    `${query.place(walks.map((_, place) => first + place))}::integer[]`,
    `${query.place(walks.map(({ name }) => name))}::text[]`,
    `${query.place(walks.map(({ value }) => value))}::text[]`,
    `${query.place(walks.map(({ level }) => level))}::smallint[]`,
    `${query.place(walks.map(({ top }) => bigint(top)))}::bigint[]`,
    `${query.place(walks.map(({ bottom }) => bigint(bottom)))}::bigint[]`,
  ].join(', ')}) w(walk, name, value, level, top, bottom)`;

/**
 * Walks along the index of values, one walk at a time. Only the rows within one span are sorted. The lateral joins
 * force the planner to follow the index and to look up one session at a time.
 */
export const walkQuery = (
  workspace: WorkspaceId,
  asked: ListQuery,
  { walks, checks, rows }: ListPlan,
): pg.QueryConfig => {
  const query = new QueryText('$');
  query.place(workspace);
  const { updatedAt, id } = positionOf(asked);
  const place = `(${query.place(bigint(updatedAt))}::bigint, ${query.place(id)})`;
  const since = `${query.place(bigint(sinceOf(asked)))}::bigint`;
  const limit = query.place(rows);
  const exact = walks.filter(isExact);
  const wide = walks.filter((walk) => !isExact(walk));
  const values = `from perdure.session_values where workspace = $1 and name = w.name and value = w.value
    and level = w.level and span between w.bottom and w.top`;
  const text = `
    select w.walk, k.id, k.updated_at as "updatedAt", ${fits(query, checks)} as fits
    from ${placeWalks(query, wide, 0)} cross join lateral (
      select s.id, s.updated_at from (select session, span ${values} order by span desc) v
      cross join lateral (
        select id, updated_at from perdure.sessions where workspace = $1 and id = v.session limit 1
      ) s
      where (s.updated_at, s.id) < ${place} and s.updated_at >= ${since}
      order by v.span desc, s.updated_at desc, s.id desc limit ${limit}
    ) k
    union all
    select w.walk, k.id, k.updated_at, ${fits(query, checks)}
    from ${placeWalks(query, exact, wide.length)} cross join lateral (
      select session as id, span as updated_at ${values} and (span, session) < ${place}
      order by span desc, session desc limit ${limit}
    ) k`;
  return { text, values: query.values };
};

/** Keeps the planner from a scan along the ids, which would need no sorting. */
const fence = 'offset 0';

/** The sessions in the order of ids, from an index. */
export const idQuery = (
  workspace: WorkspaceId,
  asked: ListQuery,
  { checks, rows }: Omit<ListPlan, 'walks'>,
): pg.QueryConfig => {
  const query = new QueryText('$');
  query.place(workspace);
  const { after, since, until, idPart } = asked;
  const limit = query.place(rows);
  const one = (walk: number, range: string, end = ''): string => `
    select ${walk} as walk, k.id, k.updated_at as "updatedAt", ${fits(query, checks)}
      ${query.and(since, (place) => `k.updated_at >= ${place}`)}${query.and(until, (place) => `k.updated_at <= ${place}`)} as fits
    from (
      select id, updated_at from (
        select id, updated_at from perdure.sessions
        where workspace = $1${query.and(after?.id, (place) => `id > ${place}`)}${range} ${end}
      ) found
      order by id limit ${limit}
    ) k`;
  const within = (column: string, text: string): string =>
    ` and ${column} >= ${query.place(text)} and ${column} < ${query.place(`${text}${beyond}`)}`;
  if (idPart === undefined) return { text: one(0, ''), values: query.values };
  const beginning = one(0, within('id', `ses_${idPart}`));
  const ending = idPart.length < leastEnding ? [] : [one(1, within('ending', reversed(idPart)), fence)];
  return { text: [beginning, ...ending].join(' union all '), values: query.values };
};

const countValues = prepared(
  'count_values',
  `select f.found from unnest($2::text[], $3::text[]) with ordinality w(name, value, place)
   cross join lateral (
     select count(*)::integer as found from (
       select from perdure.session_values where workspace = $1 and name = w.name and value = w.value limit ${maxCounted}
     ) counted
   ) f
   order by w.place`,
);

const countAll = async (
  database: Database,
  workspace: WorkspaceId,
  conditions: ValueConditions,
): Promise<readonly number[]> => {
  if (conditions.length < 2) return conditions.map(() => 0);
  const values = conditions.flat();
  const statement = countValues(
    workspace,
    values.map(({ name }) => name),
    values.map(({ value }) => value),
  );
  const found = (await database.read<{ found: number }>(workspace, statement)).values();
  return conditions.map((any) => any.reduce((sum) => sum + (found.next().value?.found ?? 0), 0));
};

const find = async (database: Database, workspace: WorkspaceId, query: ListQuery): Promise<ChosenPage> => {
  if (query.by === 'id') {
    const plan = planById(query);
    const rows = await database.read<WalkedRow>(workspace, idQuery(workspace, query, plan));
    return mergeWalks(rows, query, plan);
  }
  const conditions = conditionsOf(query);
  const plan = planWalks(query, conditions, await countAll(database, workspace, conditions));
  return mergeWalks(await database.read<WalkedRow>(workspace, walkQuery(workspace, query, plan)), query, plan);
};

const readRows = prepared(
  'read_summaries',
  `select s.* from unnest($2::text[]) asked(id) cross join lateral (
     select id, seq, at, status, updated_at, summary from perdure.sessions where workspace = $1 and id = asked.id limit 1
   ) s`,
);

export const listSessions = async (
  database: Database,
  workspace: WorkspaceId,
  query: ListQuery,
): Promise<ListedSessions> => {
  const page = await find(database, workspace, query);
  const ids: readonly SessionId[] = page.ids;
  const rows = ids.length > 0 ? await database.read<HeadRow>(workspace, readRows(workspace, ids)) : [];
  return pageOf(page, rows.map(listedSummary), query);
};
