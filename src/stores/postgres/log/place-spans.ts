import type { Segment } from '../../log/lineage.ts';
import type { QueryText } from '../../log/query-text.ts';

/** SQL that yields the spans as rows to join. */
export const placeSpans = (query: QueryText, spans: readonly Segment[]): string => {
  const sessions = query.place(spans.map(({ session }) => session));
  const firsts = query.place(spans.map(({ from }) => from));
  const lasts = query.place(spans.map(({ to }) => to));
  return `unnest(${sessions}::text[], ${firsts}::bigint[], ${lasts}::bigint[]) span(session, first, last)`;
};
