import type { SessionId } from '../schema/ids.ts';

/** A session and the seq it was forked at; 0 for a root. */
export interface LineageLink {
  readonly session: SessionId;
  readonly forkedAt: number;
}

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
