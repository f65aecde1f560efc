import type { ChargeGroupSum, ChargeQuery, ChargeSum, GroupedCharges } from '../../../core/ports/charges.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import {
  type GroupRow,
  groupSumOf,
  groupText,
  type KeyTexts,
  noCharges,
  sumOf,
  sumText,
} from '../../log/charge-sums.ts';
import { QueryText } from '../../log/query-text.ts';
import type { Source } from '../server/database.ts';
import type { Lineages } from './lineages.ts';
import { placeSpans } from './place-spans.ts';

const dateText = (format: string) => `to_char(to_timestamp(at / 1000) at time zone 'UTC', '${format}') collate "C"`;

const keys: KeyTexts = {
  run: `coalesce(run, '')`,
  session: 'session',
  agent: `coalesce(agent, '')`,
  model: `coalesce(model, '')`,
  member: `coalesce(member, '')`,
  day: dateText('YYYY-MM-DD'),
  month: dateText('YYYY-MM'),
};

export const sumCharges = async (
  source: Source,
  lineages: Lineages,
  workspace: WorkspaceId,
  { within, ...asked }: ChargeQuery,
): Promise<ChargeSum> => {
  const query = new QueryText('$');
  const spans = within && (await lineages.spans(workspace, within));
  if (spans?.length === 0) return noCharges;
  const more = spans
    ? ` and exists (select from ${placeSpans(query, spans)}
        where span.session = c.session and c.seq between span.first and span.last)`
    : '';
  const text = sumText(query, 'perdure.charges c', workspace, asked, more);
  const [row] = await source.read<GroupRow>(workspace, { text, values: query.values });
  return sumOf(row!);
};

export const groupCharges = async (
  source: Source,
  workspace: WorkspaceId,
  asked: GroupedCharges,
): Promise<readonly ChargeGroupSum[]> => {
  const query = new QueryText('$');
  const text = groupText(query, 'perdure.charges', keys, workspace, asked);
  return (await source.read<GroupRow>(workspace, { text, values: query.values })).map(groupSumOf);
};
