import type {
  ChargeAmounts,
  ChargeGroup,
  ChargeGroupSum,
  ChargeQuery,
  ChargeSum,
  GroupedCharges,
} from '../../core/ports/charges.ts';
import { isNewestFirst } from '../../core/ports/charges.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import type { QueryText } from './query-text.ts';
import { seenCondition } from './seen-condition.ts';

type Kind = 'own' | 'children';
const isOfKind: Readonly<Record<Kind, string>> = { own: 'child is null', children: 'child is not null' };

/** The type names are read alike by both dialects. */
const amountColumns = (kind: Kind): readonly string[] => {
  const filter = `filter (where ${isOfKind[kind]})`;
  const sum = (column: string, type: string, name: string) =>
    `cast(coalesce(sum(${column}) ${filter}, 0) as ${type}) as ${kind}_${name}`;
  return [
    sum('input_tokens', 'bigint', 'input'),
    sum('output_tokens', 'bigint', 'output'),
    sum('cached_tokens', 'bigint', 'cached'),
    sum('usd', 'double precision', 'usd'),
    `count(*) filter (where ${isOfKind[kind]} and usd is null and is_rest is not true) as ${kind}_unpriced`,
  ];
};

export const sumColumns = [
  `count(*) filter (where ${isOfKind.own} and is_rest is not true) as calls`,
  ...amountColumns('own'),
  ...amountColumns('children'),
].join(', ');

/** One row of `sumColumns`, with the key of its group. */
export type GroupRow = Readonly<Record<string, number | string>>;

/** A sum of binary fractions has an error in its last digits, which this removes. */
export const roundUsd = (usd: number): number => Math.round(usd * 1e12) / 1e12;

const amountsOf = (row: GroupRow, kind: Kind): ChargeAmounts => ({
  inputTokens: Number(row[`${kind}_input`]),
  outputTokens: Number(row[`${kind}_output`]),
  cachedTokens: Number(row[`${kind}_cached`]),
  usd: roundUsd(Number(row[`${kind}_usd`])),
  unpriced: Number(row[`${kind}_unpriced`]),
});

export const sumOf = (row: GroupRow): ChargeSum => ({
  calls: Number(row.calls),
  own: amountsOf(row, 'own'),
  children: amountsOf(row, 'children'),
});

export const groupSumOf = (row: GroupRow): ChargeGroupSum => ({ key: String(row.key), ...sumOf(row) });

/** SQL of the key of each group. Days and months are those of UTC. */
export type KeyTexts = Readonly<Record<ChargeGroup, string>>;

/** The table of viewers in the schema of `table`, which may have an alias. */
const valuesBeside = (table: string): string => table.replace(/charges.*/, 'session_values');
const nameOf = (table: string): string => /\w+$/.exec(table)![0];

const conditions = (query: QueryText, table: string, workspace: WorkspaceId, asked: ChargeQuery): string =>
  [
    `workspace = ${query.place(workspace)}`,
    query.and(asked.session, (place) => `session = ${place}`),
    query.and(asked.agent, (place) => `agent = ${place}`),
    query.and(asked.model, (place) => `model = ${place}`),
    query.and(asked.member, (place) => `member = ${place}`),
    query.and(asked.since, (place) => `at >= ${place}`),
    query.and(asked.until, (place) => `at <= ${place}`),
    seenCondition(query, { values: valuesBeside(table), session: `${nameOf(table)}.session` }, workspace, asked.viewer),
  ].join('');

/** Sums all charges that match. `more` restricts further. */
export const sumText = (
  query: QueryText,
  table: string,
  workspace: WorkspaceId,
  asked: ChargeQuery,
  more = '',
): string => `select ${sumColumns} from ${table} where ${conditions(query, table, workspace, asked)}${more}`;

/** Only runs and sessions have subagents. In other groups the usage of a subagent is its own. */
const hasChildren = (by: ChargeGroup): boolean => by === 'run' || by === 'session';

/** Groups the charges, as one page. */
export const groupText = (
  query: QueryText,
  table: string,
  keys: KeyTexts,
  workspace: WorkspaceId,
  asked: GroupedCharges,
): string => {
  const { by, after, limit } = asked;
  const [order, beyond] = isNewestFirst[by] ? ['desc', '<'] : ['asc', '>'];
  const where = [
    conditions(query, table, workspace, asked),
    hasChildren(by) ? '' : ' and child is null',
    query.and(after, (place) => `${keys[by]} ${beyond} ${place}`),
  ].join('');
  return `select ${keys[by]} as key, ${sumColumns} from ${table} where ${where}
    group by 1 order by 1 ${order} limit ${query.place(limit)}`;
};

const none: ChargeAmounts = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, usd: 0, unpriced: 0 };
export const noCharges: ChargeSum = { calls: 0, own: none, children: none };

const addAmounts = (a: ChargeAmounts, b: ChargeAmounts): ChargeAmounts => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
  usd: roundUsd(a.usd + b.usd),
  unpriced: a.unpriced + b.unpriced,
});

export const addSums = (a: ChargeSum, b: ChargeSum): ChargeSum => ({
  calls: a.calls + b.calls,
  own: addAmounts(a.own, b.own),
  children: addAmounts(a.children, b.children),
});
