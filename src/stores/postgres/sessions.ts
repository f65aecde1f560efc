import type { Head, ListQuery, SessionKey } from '../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { inFamilyOrder } from '../family-order.ts';
import { segmentsOf } from '../lineage.ts';
import { listedSummary } from '../stored-summary.ts';
import { type Database, prepared } from './database.ts';
import { type HeadRow, headColumns, headOf } from './head-rows.ts';
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
  return head;
};

/** The listing goes by an index on spans of time, so that an append to a session that was just changed leaves the index alone. */
export const listingSpanMs = 600_000;

/** Spans come from the index in order; only what shares one is sorted. */
const list = prepared(
  'list_sessions',
  `select id, seq, at, status, updated_at, summary from perdure.sessions
   where workspace = $1 and ($2::text[] is null or status = any($2))
     and updated_span <= $3::bigint / ${listingSpanMs} and (updated_at, id) < ($3, $4)
   order by updated_span desc, updated_at desc, id desc limit $5`,
);

const afterAll = { updatedAt: Number.MAX_SAFE_INTEGER, id: '' };

export const listSessions = async (
  database: Database,
  workspace: WorkspaceId,
  { status, limit, after = afterAll as { updatedAt: number; id: SessionId } }: ListQuery,
): Promise<readonly SessionSummary[]> => {
  const statement = list(workspace, status ?? null, after.updatedAt, after.id, limit);
  const rows = await database.read<Parameters<typeof listedSummary>[0]>(workspace, statement);
  return rows.map(listedSummary);
};

const family = prepared(
  'find_family',
  `select ${headColumns} from perdure.sessions
   where workspace = $1 and root = (select root from perdure.sessions where workspace = $1 and id = $2)`,
);

export const findFamily = async (database: Database, { workspace, session }: SessionKey): Promise<readonly Head[]> => {
  const rows = await database.read<HeadRow>(workspace, family(workspace, session));
  return inFamilyOrder(rows.map((row) => headOf(workspace, row)));
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
