import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { SessionValue, ValueConditions } from '../../../core/ports/session-value.ts';
import type { ListedSessions, ListQuery } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import {
  beyond,
  conditionsOf,
  endingChars,
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
import { idEnding } from '../file/migrations.ts';
import { prepareOnce } from '../file/prepare-once.ts';

interface Query {
  readonly text: string;
  readonly values: SQLInputValue[];
}

const built = (query: QueryText, text: string): Query => ({ text, values: query.values as SQLInputValue[] });

const isAny = (query: QueryText, any: readonly SessionValue[]): string =>
  any.map(({ name, value }) => `name = ${query.place(name)} AND value = ${query.place(value)}`).join(' OR ') || '0';

/** An expression that tells whether the session in the column `id` meets the conditions. */
const fits = (query: QueryText, here: string, id: string, checks: ValueConditions): string =>
  checks
    .map(
      (any) =>
        `EXISTS (SELECT 1 FROM session_values WHERE workspace = ${here} AND session = ${id} AND (${isAny(query, any)}))`,
    )
    .join(' AND ') || '1';

/** Only the rows within one span are sorted. */
export const walkQuery = (
  workspace: WorkspaceId,
  asked: ListQuery,
  { checks, rows }: Omit<ListPlan, 'walks'>,
  walk: Walk,
): Query => {
  const query = new QueryText('?');
  const here = query.place(workspace);
  const { updatedAt, id } = positionOf(asked);
  const from = `session_values v INDEXED BY session_values_by_value`;
  const where = `v.workspace = ${here} AND v.name = ${query.place(walk.name)} AND v.value = ${query.place(walk.value)}
    AND v.level = ${query.place(walk.level)} AND v.span BETWEEN ${query.place(walk.bottom)} AND ${query.place(walk.top)}`;
  const place = `(${query.place(updatedAt)}, ${query.place(id)})`;
  const text = isExact(walk)
    ? `SELECT v.session AS id, v.span AS updatedAt FROM ${from}
       WHERE ${where} AND (v.span, v.session) < ${place} ORDER BY v.span DESC, v.session DESC`
    : `SELECT s.id, s.updated_at AS updatedAt FROM ${from}
       CROSS JOIN sessions s ON s.workspace = v.workspace AND s.id = v.session
       WHERE ${where} AND (s.updated_at, s.id) < ${place} AND s.updated_at >= ${query.place(sinceOf(asked))}
       ORDER BY v.span DESC, s.updated_at DESC, s.id DESC`;
  const limited = `${text} LIMIT ${query.place(rows)}`;
  return built(query, `SELECT id, updatedAt, ${fits(query, here, 'id', checks)} AS fits FROM (${limited})`);
};

/** The sessions in the order of ids, from an index. */
export const idQueries = (
  workspace: WorkspaceId,
  asked: ListQuery,
  { checks, rows }: Omit<ListPlan, 'walks'>,
): readonly Query[] => {
  const { after, since, until, idPart } = asked;
  const one = (range: (query: QueryText) => string): Query => {
    const query = new QueryText('?');
    const here = query.place(workspace);
    const limited = `SELECT id, updated_at AS updatedAt FROM sessions WHERE workspace = ${here}
      ${query.and(after?.id, (place) => `id > ${place}`)}${range(query)} ORDER BY id LIMIT ${query.place(rows)}`;
    const isWithin = `${query.and(since, (place) => `updatedAt >= ${place}`)}${query.and(until, (place) => `updatedAt <= ${place}`)}`;
    return built(
      query,
      `SELECT id, updatedAt, ${fits(query, here, 'id', checks)}${isWithin} AS fits FROM (${limited})`,
    );
  };
  if (idPart === undefined) return [one(() => '')];
  const beginning = `ses_${idPart}`;
  const ending = reversed(idPart).slice(0, endingChars);
  return [
    one((query) => ` AND id >= ${query.place(beginning)} AND id < ${query.place(`${beginning}${beyond}`)}`),
    ...(idPart.length < leastEnding
      ? []
      : [
          one(
            (
              query,
            ) => ` AND ${idEnding} >= ${query.place(ending)} AND ${idEnding} < ${query.place(`${ending}${beyond}`)}
              AND substr(id, -${idPart.length}) = ${query.place(idPart)}`,
          ),
        ]),
  ];
};

export type SessionLister = (workspace: WorkspaceId, query: ListQuery) => ListedSessions;

export const openSessionLister = (db: DatabaseSync): SessionLister => {
  const statement = prepareOnce(db, 'objects');
  const all = <Row>({ text, values }: Query): readonly Row[] =>
    statement(text).all(...values) as unknown as readonly Row[];
  const countOf = (workspace: WorkspaceId, { name, value }: SessionValue): number => {
    const text = `SELECT count(*) AS found FROM (SELECT 1 FROM session_values INDEXED BY session_values_by_value
      WHERE workspace = ? AND name = ? AND value = ? LIMIT ${maxCounted})`;
    return all<{ found: number }>({ text, values: [workspace, name, value] })[0]!.found;
  };
  const planOf = (workspace: WorkspaceId, query: ListQuery): ListPlan => {
    const conditions = conditionsOf(query);
    const counts = conditions.map((any) =>
      conditions.length === 1 ? 0 : any.reduce((sum, value) => sum + countOf(workspace, value), 0),
    );
    return planWalks(query, conditions, counts);
  };
  const walkAll = (queries: readonly Query[]): readonly WalkedRow[] =>
    queries.flatMap((query, walk) => all<Omit<WalkedRow, 'walk'>>(query).map((row) => ({ ...row, walk })));
  const find = (workspace: WorkspaceId, query: ListQuery) => {
    if (query.by === 'id') {
      const plan = planById(query);
      return mergeWalks(walkAll(idQueries(workspace, query, plan)), query, plan);
    }
    const plan = planOf(workspace, query);
    return mergeWalks(walkAll(plan.walks.map((walk) => walkQuery(workspace, query, plan, walk))), query, plan);
  };
  const read = (workspace: WorkspaceId, ids: readonly SessionId[]): readonly HeadRow[] =>
    all({
      text: `SELECT s.id, s.seq, s.at, s.status, s.updated_at, s.summary FROM json_each(?) asked
        CROSS JOIN sessions s ON s.workspace = ? AND s.id = asked.value`,
      values: [JSON.stringify(ids), workspace],
    });
  return (workspace, query) => {
    const page = find(workspace, query);
    return pageOf(page, read(workspace, page.ids).map(listedSummary), query);
  };
};
