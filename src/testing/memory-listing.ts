import type { Head, ListedSessions, ListPosition, ListQuery } from '../core/ports/store.ts';
import { fitsValues } from '../core/session/session-values.ts';
import type { SessionSummary } from '../schema/summary.ts';

const byIdUpward = (a: ListPosition, b: ListPosition): number => (a.id === b.id ? 0 : a.id < b.id ? -1 : 1);
const inOrder = {
  id: byIdUpward,
  change: (a: ListPosition, b: ListPosition): number => b.updatedAt - a.updatedAt || byIdUpward(b, a),
};

const isPartOf = (id: string, part: string): boolean =>
  id.startsWith(`ses_${part}`) || (part.length >= 4 && id.endsWith(part));

const fits = (summary: SessionSummary, { status, where = [], since, until, idPart }: ListQuery): boolean =>
  (!status || status.includes(summary.status)) &&
  fitsValues(summary, where) &&
  summary.updatedAt >= (since ?? Number.NEGATIVE_INFINITY) &&
  summary.updatedAt <= (until ?? Number.POSITIVE_INFINITY) &&
  (idPart === undefined || isPartOf(summary.id, idPart));

export const listSessionsIn = (stored: readonly { readonly head: Head }[], query: ListQuery): ListedSessions => {
  const { limit, after, by = 'change' } = query;
  const found = stored
    .map(({ head }) => head.summary)
    .filter((summary) => fits(summary, query))
    .sort(inOrder[by])
    .filter((summary) => !after || inOrder[by](after, summary) < 0);
  const sessions = found.slice(0, limit);
  const last = sessions.at(-1);
  return found.length > limit && last ? { sessions, next: { updatedAt: last.updatedAt, id: last.id } } : { sessions };
};
