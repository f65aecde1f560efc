import { ownAncestor, sessionDamaged } from '../../core/session/events/session-damaged.ts';
import type { SessionId } from '../../schema/ids.ts';
import { isCount } from '../is-count.ts';

/** A session and the seq it was forked at; 0 for a root. */
export interface LineageLink {
  readonly session: SessionId;
  readonly forkedAt: number;
}

/** What the row of a session says of where it was forked. */
export interface Origin {
  readonly parent: SessionId | null;
  readonly forkedAt: number | null;
}

/** From the session to its root; undefined when there is no such session. */
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
    if (!isCount(forkedAt)) throw sessionDamaged(at, `the row of ${at} says forked_at ${forkedAt}, which cannot be`);
    links.set(at, { session: at, forkedAt });
    at = origin.parent;
  }
  return links.size > 0 ? [...links.values()] : undefined;
};

/** The events that one session of a lineage gives to the sequence. */
export interface Segment {
  readonly session: SessionId;
  readonly from: number;
  readonly to: number;
}

/** From the session itself to its root, newest events first. A fork of what was itself inherited leaves out the session in between. */
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

/** What of the segments lies in the ranges, which do not overlap; newest events first. */
export const spansOf = (
  segments: readonly Segment[],
  ranges: readonly (readonly [number, number])[],
): readonly Segment[] =>
  ranges.flatMap(([from, to]) => clipSegments(segments, from - 1, to)).sort((a, b) => b.from - a.from);

/** What of the spans a page after that record has left. */
export const olderThan = (
  spans: readonly Segment[],
  before: { readonly seq: number } | undefined,
): readonly Segment[] => (before ? clipSegments(spans, 0, before.seq - 1) : spans);
