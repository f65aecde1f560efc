import type { FamilyMember, Head, SessionKey } from '../../../core/ports/store.ts';
import { inFamilyOrder } from '../../log/family-order.ts';
import { segmentsOf } from '../../log/lineage.ts';
import { withoutPlace } from '../../log/listing-key.ts';
import { type HeadRow, headOf, memberOf } from '../../log/stored-head.ts';
import { type Database, prepared } from '../server/database.ts';
import { headColumns } from './head-rows.ts';
import type { Lineages } from './lineages.ts';

const find = prepared('find_head', `select ${headColumns} from perdure.sessions where workspace = $1 and id = $2`);

export const findHead = async (
  database: Database,
  lineages: Lineages,
  { workspace, session }: SessionKey,
): Promise<Head | undefined> => {
  const [row] = await database.read<HeadRow>(workspace, find(workspace, session));
  if (!row) return undefined;
  const head = headOf(workspace, row);
  lineages.learn(head);
  return withoutPlace(head);
};

const family = prepared(
  'find_family',
  `select ${headColumns} from perdure.sessions
   where workspace = $1 and root = (select root from perdure.sessions where workspace = $1 and id = $2)`,
);

export const findFamily = async (
  database: Database,
  { workspace, session }: SessionKey,
): Promise<readonly FamilyMember[]> => {
  const rows = await database.read<HeadRow>(workspace, family(workspace, session));
  return inFamilyOrder(rows.map(memberOf));
};

const starts = prepared(
  'find_turn_starts',
  `select e.turn, e.seq
   from unnest($2::text[], $3::bigint[], $4::bigint[]) s(session, first, last)
   cross join lateral (
     select turn, seq from perdure.events
     where workspace = $1 and session = s.session and opens_turn and turn >= $5 and seq between s.first and s.last
     order by turn, seq limit $6
   ) e
   order by e.turn, e.seq limit $6`,
);

export const findTurnStarts = async (
  database: Database,
  lineages: Lineages,
  key: SessionKey,
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<readonly { readonly turn: number; readonly seq: number }[]> => {
  const lineage = await lineages.get(key);
  if (!lineage) return [];
  const segments = segmentsOf(lineage, Number.MAX_SAFE_INTEGER);
  const statement = starts(
    key.workspace,
    segments.map(({ session }) => session),
    segments.map(({ from: first }) => first),
    segments.map(({ to }) => to),
    from,
    limit,
  );
  return database.read<{ turn: number; seq: number }>(key.workspace, statement);
};
