import type pg from 'pg';
import type { Head, SessionKey } from '../../../core/ports/store.ts';
import type { SessionSummary } from '../../../schema/summary.ts';
import { prepared } from '../server/database.ts';

export const headColumns = 'id, parent, forked_at, root, seq, hash, at, epoch, summary, status, updated_at';

const describe = prepared(
  'describe_session',
  `update perdure.sessions set summary = $3, status = $4, updated_at = $5, was = hash
   where workspace = $1 and id = $2`,
);

/**
 * Replaces only the summary. Setting `was` makes writers with a cached head read the head again; see `perdure.append`.
 */
export const describeSession = ({ workspace, session }: SessionKey, summary: SessionSummary): pg.QueryConfig =>
  describe(workspace, session, JSON.stringify(summary), summary.status, summary.updatedAt);

const mark = prepared('mark_imported', 'update perdure.sessions set imported_to = $3 where workspace = $1 and id = $2');

/** Records that the events up to this seq came from an import. */
export const markImported = ({ workspace, session }: SessionKey, upTo: number): pg.QueryConfig =>
  mark(workspace, session, upTo);

const move = prepared(
  'move_head',
  'update perdure.sessions set seq = $3, hash = $4, at = $5, was = $4 where workspace = $1 and id = $2',
);

export const moveHead = (
  { workspace, session }: SessionKey,
  { seq, hash, at }: Pick<Head, 'seq' | 'hash' | 'at'>,
): pg.QueryConfig => move(workspace, session, seq, hash, at);
