import type pg from 'pg';
import type { Head, SessionKey } from '../../../core/ports/store.ts';
import { summaryText } from '../../log/stored-summary.ts';
import { prepared } from '../server/database.ts';
import { listedColumn } from './session-values.ts';

export const headColumns = `id, parent, forked_at, root, seq, hash, at, epoch, claim, summary, status, updated_at,
  ${listedColumn}`;

const describe = prepared(
  'describe_session',
  `update perdure.sessions set summary = $3, status = $4, updated_at = $5, was = hash
   where workspace = $1 and id = $2`,
);

/**
 * Replaces only the summary and the account. Setting `was` makes writers with a cached head read the head again; see `perdure.append`.
 */
export const describeSession = (
  { workspace, session }: SessionKey,
  state: Pick<Head, 'summary' | 'account'>,
): pg.QueryConfig => describe(workspace, session, summaryText(state), state.summary.status, state.summary.updatedAt);

const mark = prepared(
  'mark_imported',
  `update perdure.sessions set imported_from = case imported_to when 0 then $3::bigint else imported_from end, imported_to = $4
   where workspace = $1 and id = $2`,
);

/** Records that these events came from an import. If earlier ones did too, everything in between counts as imported. */
export const markImported = ({ workspace, session }: SessionKey, from: number, to: number): pg.QueryConfig =>
  mark(workspace, session, from, to);

const move = prepared(
  'move_head',
  'update perdure.sessions set seq = $3, hash = $4, at = $5, was = $4 where workspace = $1 and id = $2',
);

export const moveHead = (
  { workspace, session }: SessionKey,
  { seq, hash, at }: Pick<Head, 'seq' | 'hash' | 'at'>,
): pg.QueryConfig => move(workspace, session, seq, hash, at);
