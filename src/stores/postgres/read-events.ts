import type { ReadRange, SessionKey, StoredEvent } from '../../core/ports/store.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { clipSegments, type Segment, segmentsOf } from '../lineage.ts';
import { payloadEncoding, unpackedBytes } from '../payload-codec.ts';
import { bodyOf } from '../stored-body.ts';
import { hexOf, readBlobs } from './blobs.ts';
import { prepared, type Source } from './database.ts';
import { type EventRow, eventColumns } from './event-rows.ts';
import type { Lineages } from './lineages.ts';

interface PageRow extends EventRow {
  readonly blob_size: number | null;
}

/** One range of one session at a time, so that each is a walk along the primary key whatever the planner thinks of the rest. */
const page = (order: 'asc' | 'desc') =>
  prepared(
    `read_events_${order}`,
    `select ${eventColumns},
       case encoding when ${payloadEncoding.blob} then
         (select b.size from perdure.blobs b where b.workspace = $1 and b.hash = payload) end as blob_size
     from (
       select e.*, sum(octet_length(e.payload)) over (order by e.seq ${order}) - octet_length(e.payload) as before
       from unnest($2::text[], $3::bigint[], $4::bigint[]) s(session, first, last)
       cross join lateral (
         select ${eventColumns} from perdure.events
         where workspace = $1 and session = s.session and seq between s.first and s.last
         order by seq ${order} limit $5
       ) e
     ) bounded
     where before <= $6
     order by seq ${order}`,
  );
const pages = { ascending: page('asc'), descending: page('desc') };

/** Numbers are dense: the segments that hold the first `limit` numbers hold the page. */
const withinReach = (segments: readonly Segment[], limit: number): readonly Segment[] => {
  let reached = 0;
  return segments.filter(({ from, to }) => {
    const before = reached;
    reached += to - from + 1;
    return before < limit;
  });
};

const segmentsOfPage = async (
  lineages: Lineages,
  key: SessionKey,
  { after = 0, upTo = Number.MAX_SAFE_INTEGER, limit, order }: ReadRange,
): Promise<readonly Segment[]> => {
  const lineage = await lineages.get(key);
  if (!lineage) return [];
  if (order !== 'descending') {
    const segments = clipSegments(segmentsOf(lineage, Number.MAX_SAFE_INTEGER), after, upTo);
    return withinReach(segments.toReversed(), limit);
  }
  // Counted from the head, unless all is of one session.
  const head = lineage.length > 1 ? (await lineages.withHead(key))?.seq : Number.MAX_SAFE_INTEGER;
  return withinReach(clipSegments(segmentsOf(lineage, head ?? 0), after, upTo), limit);
};

const eventOf = (row: EventRow, blob: Uint8Array | undefined): StoredEvent => ({
  session: row.session,
  seq: row.seq,
  at: row.at,
  turn: row.turn,
  opensTurn: row.opens_turn,
  run: row.run ?? undefined,
  type: row.type,
  version: row.version,
  actor: row.actor,
  body: bodyOf(row, blob),
  hash: row.hash,
});

export const eventsOf = async (
  source: Source,
  workspace: WorkspaceId,
  rows: readonly EventRow[],
): Promise<readonly StoredEvent[]> => {
  const spilled = rows.filter(({ encoding }) => encoding === payloadEncoding.blob).map(({ payload }) => payload);
  const blobs = await readBlobs(source, workspace, spilled);
  return rows.map((row) =>
    eventOf(row, row.encoding === payloadEncoding.blob ? blobs.get(hexOf(row.payload)) : undefined),
  );
};

/** The statement counts bytes as stored, which may be fewer. */
const fitting = (rows: readonly PageRow[], maxBytes: number): readonly PageRow[] => {
  let bytes = 0;
  const end = rows.findIndex((row, place) => {
    bytes += unpackedBytes(row.encoding, row.payload, () => row.blob_size ?? 0);
    return place > 0 && bytes > maxBytes;
  });
  return end < 0 ? rows : rows.slice(0, end);
};

export const readSegments = async (
  source: Source,
  workspace: WorkspaceId,
  segments: readonly Segment[],
  { limit, maxBytes = Number.MAX_SAFE_INTEGER, order = 'ascending' }: ReadRange,
): Promise<readonly StoredEvent[]> => {
  if (segments.length === 0) return [];
  const statement = pages[order](
    workspace,
    segments.map(({ session }) => session),
    segments.map(({ from }) => from),
    segments.map(({ to }) => to),
    limit,
    maxBytes,
  );
  const rows = await source.read<PageRow>(workspace, statement);
  return eventsOf(source, workspace, fitting(rows, maxBytes));
};

export const readEvents = async (
  source: Source,
  lineages: Lineages,
  key: SessionKey,
  range: ReadRange,
): Promise<readonly StoredEvent[]> =>
  readSegments(source, key.workspace, await segmentsOfPage(lineages, key, range), range);
