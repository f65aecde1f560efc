import type pg from 'pg';
import type { CommitQuery, StoredEvent } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { olderThan, type Segment } from '../../log/lineage.ts';
import { pathRange } from '../../log/path-range.ts';
import { QueryText } from '../../log/query-text.ts';
import { seenCondition } from '../../log/seen-condition.ts';
import type { Source } from '../server/database.ts';
import { type EventRow, eventColumns, isImported } from './event-rows.ts';
import type { Lineages } from './lineages.ts';
import { placeSpans } from './place-spans.ts';
import { eventsOf } from './read-events.ts';

const filters = (query: QueryText, asked: CommitQuery): string => {
  const { prefix, provenance } = asked;
  const { from, below } = pathRange(prefix);
  return [
    query.and(from, (place) => `path >= ${place}`),
    query.and(below, (place) => `path < ${place}`),
    provenance?.length === 1
      ? query.and(provenance[0], (place) => `provenance = ${place}`)
      : query.and(provenance, (place) => `provenance = any(${place}::text[])`),
    query.narrow(asked),
  ].join('');
};

const seen = (query: QueryText, workspace: WorkspaceId, { viewer }: CommitQuery): string =>
  seenCondition(query, { values: 'perdure.session_values', session: 'commit_paths.session' }, workspace, viewer);

/** Looks up only those log events that the page needs. */
const withEvents = (query: QueryText, keys: string, order: string): pg.QueryConfig => ({
  text: `select ${eventColumns.replaceAll(/\w+/g, 'e.$&')}, ${isImported({ session: 'e.session', seq: 'e.seq' })}
    from (${keys}) key join perdure.events e on e.workspace = $1 and e.session = key.session and e.seq = key.seq
    order by ${order}`,
  values: query.values,
});

export const commitsOfWorkspace = (workspace: WorkspaceId, asked: CommitQuery): pg.QueryConfig => {
  const query = new QueryText('$');
  const keys = `select at, session, seq from perdure.commit_paths
    where workspace = ${query.place(workspace)}${filters(query, asked)}${query.goOn(asked.before)}${seen(query, workspace, asked)}
    group by at, session, seq order by at desc, session desc, seq desc limit ${query.place(asked.limit)}`;
  return withEvents(query, keys, 'key.at desc, key.session desc, key.seq desc');
};

/** Reads one span of one session at a time, so that each read is a scan along the primary key. */
export const commitsOfSpans = (
  workspace: WorkspaceId,
  spans: readonly Segment[],
  asked: CommitQuery,
): pg.QueryConfig => {
  const query = new QueryText('$');
  const here = query.place(workspace);
  const limit = query.place(asked.limit);
  const keys = `select own.session, own.seq from ${placeSpans(query, spans)}
    cross join lateral (
      select session, seq from perdure.commit_paths
      where workspace = ${here} and session = span.session and seq between span.first and span.last${filters(query, asked)}
      group by session, seq order by seq desc limit ${limit}
    ) own
    order by own.seq desc limit ${limit}`;
  return withEvents(query, keys, 'key.seq desc');
};

export const findCommits = async (
  source: Source,
  lineages: Lineages,
  workspace: WorkspaceId,
  query: CommitQuery,
): Promise<readonly StoredEvent[]> => {
  const { within, before } = query;
  const spans = within && olderThan(await lineages.spans(workspace, within), before);
  if (spans?.length === 0) return [];
  const statement = spans ? commitsOfSpans(workspace, spans, query) : commitsOfWorkspace(workspace, query);
  return eventsOf(source, workspace, await source.read<EventRow>(workspace, statement));
};
