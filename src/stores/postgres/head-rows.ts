import type pg from 'pg';
import type { Head, SessionKey } from '../../core/ports/store.ts';
import { PerdureError } from '../../schema/error.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { byteaArray } from './bytea-array.ts';
import { prepared } from './database.ts';

export interface HeadRow {
  readonly id: SessionId;
  readonly parent: SessionId | null;
  readonly forked_at: number | null;
  readonly root: SessionId;
  readonly seq: number;
  readonly hash: Uint8Array;
  readonly at: number;
  readonly epoch: number;
  readonly summary: string;
}

export const headColumns = 'id, parent, forked_at, root, seq, hash, at, epoch, summary';

export const parseSummary = (text: string): SessionSummary | undefined => {
  try {
    return JSON.parse(text) as SessionSummary;
  } catch {
    return undefined;
  }
};

export const headOf = (workspace: WorkspaceId, row: HeadRow): Head => {
  const summary = parseSummary(row.summary);
  if (!summary) {
    throw new PerdureError(
      'STORE_CORRUPT',
      `the summary of ${row.id} is not JSON: restore the session from an export or a backup`,
      { details: { session: row.id } },
    );
  }
  return {
    workspace,
    session: row.id,
    parent: row.parent && row.forked_at !== null ? { session: row.parent, seq: row.forked_at } : undefined,
    root: row.root,
    seq: row.seq,
    hash: row.hash,
    at: row.at,
    epoch: row.epoch,
    summary,
  };
};

const insert = prepared(
  'insert_sessions',
  `insert into perdure.sessions (workspace, id, parent, forked_at, root, seq, hash, at, epoch, status, updated_at, summary)
   select $1, * from unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::bytea[], $8::bigint[], $9::bigint[],
     $10::text[], $11::bigint[], $12::text[])`,
);

const update = prepared(
  'update_sessions',
  `update perdure.sessions s
   set seq = u.seq, hash = u.hash, at = u.at, epoch = u.epoch, status = u.status, updated_at = u.updated_at, summary = u.summary
   from unnest($2::text[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::text[])
     u(id, seq, hash, at, epoch, status, updated_at, summary)
   where s.workspace = $1 and s.id = u.id`,
);

const describe = prepared(
  'describe_session',
  'update perdure.sessions set summary = $3, status = $4, updated_at = $5 where workspace = $1 and id = $2',
);

/** The summary alone, whatever stood there. */
export const describeSession = ({ workspace, session }: SessionKey, summary: SessionSummary): pg.QueryConfig =>
  describe(workspace, session, JSON.stringify(summary), summary.status, summary.updatedAt);

const moving = (heads: readonly Head[]): unknown[] => [
  heads.map(({ seq }) => seq),
  byteaArray(heads.map(({ hash }) => hash)),
  heads.map(({ at }) => at),
  heads.map(({ epoch }) => epoch),
  heads.map(({ summary }) => summary.status),
  heads.map(({ summary }) => summary.updatedAt),
  heads.map(({ summary }) => JSON.stringify(summary)),
];

const byId = (a: Head, b: Head): number => (a.session < b.session ? -1 : 1);

/** In the order of ids, as all writers lock them. */
export const insertSessions = (workspace: WorkspaceId, unsorted: readonly Head[]): pg.QueryConfig => {
  const heads = unsorted.toSorted(byId);
  return insert(
    workspace,
    heads.map(({ session }) => session),
    heads.map(({ parent }) => parent?.session ?? null),
    heads.map(({ parent }) => parent?.seq ?? null),
    heads.map(({ root }) => root),
    ...moving(heads),
  );
};

export const updateSessions = (workspace: WorkspaceId, heads: readonly Head[]): pg.QueryConfig =>
  update(
    workspace,
    heads.map(({ session }) => session),
    ...moving(heads),
  );
