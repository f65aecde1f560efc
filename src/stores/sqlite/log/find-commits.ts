import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { CommitQuery, StoredEvent } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { olderThan, type Segment } from '../../log/lineage.ts';
import { pathRange } from '../../log/path-range.ts';
import { QueryText } from '../../log/query-text.ts';
import { seenCondition } from '../../log/seen-condition.ts';
import { eachRow } from '../file/each-row.ts';
import { prepareOnce } from '../file/prepare-once.ts';
import type { Blobs } from './blobs.ts';
import { type EventRow, eventColumns, isImported } from './event-rows.ts';
import { eventOf } from './read-events.ts';
import type { Sessions } from './sessions.ts';

export interface CommitFinder {
  find(workspace: WorkspaceId, query: CommitQuery): readonly StoredEvent[];
}

interface Query {
  readonly text: string;
  readonly values: SQLInputValue[];
}

const filters = (query: QueryText, asked: CommitQuery): string => {
  const { prefix, provenance } = asked;
  const { from, below } = pathRange(prefix);
  return [
    query.and(from, (place) => `path >= ${place}`),
    query.and(below, (place) => `path < ${place}`),
    query.and(
      provenance && JSON.stringify(provenance),
      (place) => `provenance IN (SELECT value FROM json_each(${place}))`,
    ),
    query.narrow(asked),
  ].join('');
};

const seen = (query: QueryText, workspace: WorkspaceId, { viewer }: CommitQuery): string =>
  seenCondition(query, { values: 'session_values', session: 'commit_paths.session' }, workspace, viewer);

/** Looks up only those log events that the page needs. */
const withEvents = (query: QueryText, keys: string, order: string): Query => ({
  text: `SELECT ${eventColumns}, ${isImported({ workspace: '?1', session: 'key_session' })}
    FROM (SELECT at AS key_at, session AS key_session, seq AS key_seq FROM ${keys})
    CROSS JOIN events ON workspace = ?1 AND session = key_session AND seq = key_seq
    ORDER BY ${order}`,
  values: query.values as SQLInputValue[],
});

/**
 * The path index is not in time order, so its results must be sorted: fine for the few commits of one entry. A whole
 * collection may match most commits, so a scan back in time soon fills the page. That index also holds tools, actors
 * and provenances, because a separate index for each would cost every commit another page to sync.
 */
const indexFor = ({ prefix = '' }: CommitQuery): string =>
  /^\/[^/]*\/./.test(prefix) ? 'commit_paths_by_path' : 'commit_paths_by_time';

export const commitsOfWorkspace = (workspace: WorkspaceId, asked: CommitQuery): Query => {
  const query = new QueryText('?');
  const keys = `commit_paths INDEXED BY ${indexFor(asked)} WHERE workspace = ${query.place(workspace)}
    ${filters(query, asked)}${query.goOn(asked.before)}${seen(query, workspace, asked)}
    GROUP BY at, session, seq ORDER BY at DESC, session DESC, seq DESC LIMIT ${query.place(asked.limit)}`;
  return withEvents(query, keys, 'key_at DESC, key_session DESC, key_seq DESC');
};

export const commitsOfSpan = (workspace: WorkspaceId, span: Segment, asked: CommitQuery, limit: number): Query => {
  const query = new QueryText('?');
  const keys = `commit_paths WHERE workspace = ${query.place(workspace)} AND session = ${query.place(span.session)}
    AND seq BETWEEN ${query.place(span.from)} AND ${query.place(span.to)}${filters(query, asked)}
    GROUP BY seq ORDER BY seq DESC LIMIT ${query.place(limit)}`;
  return withEvents(query, keys, 'key_seq DESC');
};

export const openCommitFinder = (db: DatabaseSync, sessions: Sessions, blobs: Blobs): CommitFinder => {
  const statement = prepareOnce(db, 'arrays');
  const run = (workspace: WorkspaceId, { text, values }: Query): readonly StoredEvent[] =>
    [...eachRow<EventRow>(statement(text), ...values)].map((row) => eventOf(blobs, workspace, row));
  return {
    find: (workspace, query) => {
      const { within, before, limit } = query;
      if (!within) return run(workspace, commitsOfWorkspace(workspace, query));
      const events: StoredEvent[] = [];
      for (const span of olderThan(sessions.spans(workspace, within), before)) {
        events.push(...run(workspace, commitsOfSpan(workspace, span, query, limit - events.length)));
        if (events.length >= limit) break;
      }
      return events;
    },
  };
};
