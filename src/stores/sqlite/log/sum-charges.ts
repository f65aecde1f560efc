import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { ChargeGroupSum, ChargeQuery, ChargeSum, GroupedCharges } from '../../../core/ports/charges.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import {
  addSums,
  type GroupRow,
  groupSumOf,
  groupText,
  type KeyTexts,
  noCharges,
  sumOf,
  sumText,
} from '../../log/charge-sums.ts';
import { QueryText } from '../../log/query-text.ts';
import { prepareOnce } from '../file/prepare-once.ts';
import type { Sessions } from './sessions.ts';

export interface ChargeReader {
  sum(workspace: WorkspaceId, query: ChargeQuery): ChargeSum;
  group(workspace: WorkspaceId, query: GroupedCharges): readonly ChargeGroupSum[];
}

const keys: KeyTexts = {
  run: `coalesce(run, '')`,
  session: 'session',
  agent: `coalesce(agent, '')`,
  model: `coalesce(model, '')`,
  member: `coalesce(member, '')`,
  day: `strftime('%Y-%m-%d', at / 1000, 'unixepoch')`,
  month: `strftime('%Y-%m', at / 1000, 'unixepoch')`,
};

export const openChargeReader = (db: DatabaseSync, sessions: Sessions): ChargeReader => {
  const statement = prepareOnce(db, 'objects');
  const rows = (text: string, { values }: QueryText) =>
    statement(text).all(...(values as SQLInputValue[])) as unknown as GroupRow[];
  const sumWithin = (workspace: WorkspaceId, asked: ChargeQuery, more: (query: QueryText) => string): ChargeSum => {
    const query = new QueryText('?');
    const [row] = rows(sumText(query, 'charges', workspace, asked, more(query)), query);
    return sumOf(row!);
  };
  return {
    sum: (workspace, { within, ...asked }) => {
      if (!within) return sumWithin(workspace, asked, () => '');
      return sessions
        .spans(workspace, within)
        .map(({ session, from, to }) =>
          sumWithin(
            workspace,
            asked,
            (query) =>
              ` AND session = ${query.place(session)} AND seq BETWEEN ${query.place(from)} AND ${query.place(to)}`,
          ),
        )
        .reduce(addSums, noCharges);
    },
    group: (workspace, asked) => {
      const query = new QueryText('?');
      return rows(groupText(query, 'charges', keys, workspace, asked), query).map(groupSumOf);
    },
  };
};
