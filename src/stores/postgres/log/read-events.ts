import type { ReadRange, SessionKey, StoredEvent } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { payloadEncoding, unpackedBytes } from '../../codec/payload-codec.ts';
import { bodyOf } from '../../codec/stored-body.ts';
import { type Segment, segmentsOf, segmentsToRead } from '../../log/lineage.ts';
import { prepared, type Source } from '../server/database.ts';
import { blobSizes, hexOf, readBlobs } from './blobs.ts';
import { type EventRow, eventColumns, isImported } from './event-rows.ts';
import type { Lineages } from './lineages.ts';

type Order = NonNullable<ReadRange['order']>;
const sqlOrder: Record<Order, string> = { ascending: 'asc', descending: 'desc' };

/** Always a scan along the primary key, whatever the planner estimates. */
const ofOne = (order: Order) =>
  prepared(
    `read_events_${sqlOrder[order]}`,
    `select ${eventColumns}, ${isImported({ session: '$2', seq: 'events.seq' })} from perdure.events
     where workspace = $1 and session = $2 and seq between $3 and $4 order by seq ${sqlOrder[order]} limit $5`,
  );
/** Reads one range of one session at a time, each as a scan along the primary key. */
const ofSeveral = (order: Order) =>
  prepared(
    `read_segments_${sqlOrder[order]}`,
    `select e.* from unnest($2::text[], $3::bigint[], $4::bigint[]) s(session, first, last)
     cross join lateral (
       select ${eventColumns}, ${isImported({ session: 's.session', seq: 'events.seq' })} from perdure.events
       where workspace = $1 and session = s.session and seq between s.first and s.last
       order by seq ${sqlOrder[order]} limit $5
     ) e
     order by seq ${sqlOrder[order]} limit $5`,
  );
const pages = {
  ascending: { ofOne: ofOne('ascending'), ofSeveral: ofSeveral('ascending') },
  descending: { ofOne: ofOne('descending'), ofSeveral: ofSeveral('descending') },
};

const pageOf = (workspace: WorkspaceId, segments: readonly Segment[], limit: number, order: Order) => {
  const [only, ...others] = segments;
  if (only && others.length === 0) return pages[order].ofOne(workspace, only.session, only.from, only.to, limit);
  return pages[order].ofSeveral(
    workspace,
    segments.map(({ session }) => session),
    segments.map(({ from }) => from),
    segments.map(({ to }) => to),
    limit,
  );
};

/** Seqs are dense, so the page lies within the segments that cover the first `limit` seqs. */
const withinReach = (segments: readonly Segment[], limit: number): readonly Segment[] => {
  let reached = 0;
  return segments.filter(({ from, to }) => {
    const before = reached;
    reached += to - from + 1;
    return before < limit;
  });
};

const segmentsOfPage = async (lineages: Lineages, key: SessionKey, range: ReadRange): Promise<readonly Segment[]> => {
  const lineage = await lineages.get(key);
  if (!lineage) return [];
  const { limit, order } = range;
  if (order !== 'descending') {
    const segments = segmentsToRead(segmentsOf(lineage, Number.MAX_SAFE_INTEGER), range);
    return withinReach(segments.toReversed(), limit);
  }
  // The page is counted down from the head. One segment needs no head, because nothing follows it.
  const head = lineage.length > 1 || range.within ? (await lineages.withHead(key))?.seq : Number.MAX_SAFE_INTEGER;
  return withinReach(segmentsToRead(segmentsOf(lineage, head ?? 0), range), limit);
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
  ...(row.imported && { imported: true }),
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

/**
 * The leading rows within `maxBytes`, at least one. Only spilled payloads need a size lookup, because inline rows
 * have a size limit.
 */
const fitting = async (
  source: Source,
  workspace: WorkspaceId,
  rows: readonly EventRow[],
  maxBytes: number,
): Promise<readonly EventRow[]> => {
  const spilled = rows.filter(({ encoding }) => encoding === payloadEncoding.blob).map(({ payload }) => payload);
  const sizes = await blobSizes(source, workspace, spilled);
  let bytes = 0;
  const end = rows.findIndex(({ encoding, payload }, place) => {
    bytes += unpackedBytes(encoding, payload, () => sizes.get(hexOf(payload)) ?? 0);
    return place > 0 && bytes > maxBytes;
  });
  return end < 0 ? rows : rows.slice(0, end);
};

export const readSegments = async (
  source: Source,
  workspace: WorkspaceId,
  segments: readonly Segment[],
  { limit, maxBytes, order = 'ascending' }: ReadRange,
): Promise<readonly StoredEvent[]> => {
  if (segments.length === 0) return [];
  const rows = await source.read<EventRow>(workspace, pageOf(workspace, segments, limit, order));
  return eventsOf(source, workspace, maxBytes === undefined ? rows : await fitting(source, workspace, rows, maxBytes));
};

export const readEvents = async (
  source: Source,
  lineages: Lineages,
  key: SessionKey,
  range: ReadRange,
): Promise<readonly StoredEvent[]> =>
  readSegments(source, key.workspace, await segmentsOfPage(lineages, key, range), range);
