import type { ReadRange } from '../../core/ports/store.ts';
import { ownAncestor, sessionDamaged } from '../../core/session/events/session-damaged.ts';
import type { SessionId } from '../../schema/ids.ts';
import { isCount } from '../is-count.ts';

/** A session and the seq it was forked at; 0 for a root. */
export interface LineageLink {
  readonly session: SessionId;
  readonly forkedAt: number;
}

/** The origin columns of a session's row; both are null for a root. */
export interface Origin {
  readonly parent: SessionId | null;
  readonly forkedAt: number | null;
}

/** Links from the session to its root; undefined when the session does not exist. */
export const lineageOf = (
  session: SessionId,
  originOf: (session: SessionId) => Origin | undefined,
): readonly LineageLink[] | undefined => {
  const links = new Map<SessionId, LineageLink>();
  for (let at: SessionId | null = session; at; ) {
    const origin = originOf(at);
    if (!origin) break;
    if (links.has(at)) throw ownAncestor(session);
    const forkedAt = origin.forkedAt ?? 0;
    if (!isCount(forkedAt)) throw sessionDamaged(at, `the row of ${at} is corrupt (forked_at is ${forkedAt})`);
    links.set(at, { session: at, forkedAt });
    at = origin.parent;
  }
  return links.size > 0 ? [...links.values()] : undefined;
};

/** The range of events that one session of a lineage contributes to the sequence. */
export interface Segment {
  readonly session: SessionId;
  readonly from: number;
  readonly to: number;
}

/**
 * Segments from the session itself to its root, newest events first. A fork at an inherited event skips the session
 * in between.
 */
export const segmentsOf = (lineage: readonly LineageLink[], head: number): readonly Segment[] => {
  const segments: Segment[] = [];
  let to = head;
  for (const { session, forkedAt } of lineage) {
    if (to > forkedAt) segments.push({ session, from: forkedAt + 1, to });
    to = Math.min(to, forkedAt);
  }
  return segments;
};

export const clipSegments = (segments: readonly Segment[], after: number, upTo: number): readonly Segment[] =>
  segments
    .map(({ session, from, to }) => ({ session, from: Math.max(from, after + 1), to: Math.min(to, upTo) }))
    .filter(({ from, to }) => from <= to);

/** The parts of the segments that lie in the ranges, newest events first. The ranges must not overlap. */
export const spansOf = (
  segments: readonly Segment[],
  ranges: readonly (readonly [number, number])[],
): readonly Segment[] =>
  ranges.flatMap(([from, to]) => clipSegments(segments, from - 1, to)).sort((a, b) => b.from - a.from);

/** The parts of the segments that a read covers, newest events first. */
export const segmentsToRead = (
  segments: readonly Segment[],
  { after = 0, upTo = Number.MAX_SAFE_INTEGER, within }: ReadRange,
): readonly Segment[] => {
  const clipped = clipSegments(segments, after, upTo);
  return within ? spansOf(clipped, within) : clipped;
};

/** The parts of the spans that are older than `before`, for the next page. Pages go from newest to oldest. */
export const olderThan = (
  spans: readonly Segment[],
  before: { readonly seq: number } | undefined,
): readonly Segment[] => (before ? clipSegments(spans, 0, before.seq - 1) : spans);
