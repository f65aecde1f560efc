import type { DatabaseSync } from 'node:sqlite';
import { BoundedMap } from '../../../concurrency/bounded-map.ts';
import {
  type EventRanges,
  type FamilyMember,
  type Head,
  type ListQuery,
  type SessionKey,
  sessionKeyName,
} from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import type { SessionSummary } from '../../../schema/summary.ts';
import { inFamilyOrder } from '../../log/family-order.ts';
import { type LineageLink, lineageOf, type Origin, type Segment, segmentsOf, spansOf } from '../../log/lineage.ts';
import { listedStatus } from '../../log/listed-status.ts';
import { type HeadRow, headOf as headIn, memberOf } from '../../log/stored-head.ts';
import { listedSummary } from '../../log/stored-summary.ts';
import { lazyStatement } from '../file/lazy-statement.ts';

/** A session with the seq before its own first event, and the seq that its row names as head. */
export interface SessionStart extends LineageLink {
  readonly seq: number;
  /** Events up to this seq came from an import. */
  readonly importedTo: number;
  readonly summary: string;
  readonly root: SessionId;
}

export interface Sessions {
  head(key: SessionKey): Head | undefined;
  insert(head: Head): void;
  /** `before` is the stored head. */
  update(head: Head, before: Head): void;
  list(workspace: WorkspaceId, query: ListQuery): readonly SessionSummary[];
  family(key: SessionKey): readonly FamilyMember[];
  /** The root of the session's family; undefined when the session does not exist. */
  rootOf(key: SessionKey): SessionId | undefined;
  /** Links from the session to its root; undefined when the session does not exist. */
  lineage(key: SessionKey): readonly LineageLink[] | undefined;
  /** The segments that store the events of these ranges, newest first. */
  spans(workspace: WorkspaceId, within: EventRanges): readonly Segment[];
  starts(workspace: WorkspaceId): readonly SessionStart[];
  /** Replaces only the summary. */
  describe(key: SessionKey, summary: SessionSummary): void;
  moveHead(key: SessionKey, head: Pick<Head, 'seq' | 'hash' | 'at'>): void;
  markImported(key: SessionKey, upTo: number): void;
  /** Call this after a rollback, because the cache may hold values that were rolled back. */
  forgetLineages(): void;
}

interface Row extends HeadRow {
  readonly workspace: WorkspaceId;
  readonly updated_span: number;
}

const columns =
  'workspace, id, parent, forked_at, root, seq, hash, at, epoch, summary, status, updated_at, updated_span';
const maxLinks = 100_000;

/**
 * The listing uses an index on spans of time and sorts within them. So an append to a recently changed session does
 * not touch that index.
 */
const spanMs = 60_000;
const spanOf = (updatedAt: number): number => Math.floor(updatedAt / spanMs);

const headOf = (row: Row): Head => {
  const head = headIn(row.workspace, row);
  return { ...head, isListed: head.isListed && row.updated_span === spanOf(head.summary.updatedAt) };
};

/** Forces the index, because the engine would otherwise scan all sessions of the workspace. */
export const familyQuery = `SELECT ${columns} FROM sessions WHERE workspace = ?1 AND id = ?2 AND parent IS NULL
  UNION ALL SELECT ${columns} FROM sessions INDEXED BY sessions_by_root
    WHERE workspace = ?1 AND root = ?2 AND parent IS NOT NULL`;

/** The columns that every append changes, in the order of both statements. */
const movingColumns = ({ seq, hash, at, epoch, summary }: Pick<Head, 'seq' | 'hash' | 'at' | 'epoch' | 'summary'>) =>
  [seq, hash, at, epoch, JSON.stringify(summary), summary.status, summary.updatedAt] as const;

export const openSessions = (db: DatabaseSync): Sessions => {
  const one = db.prepare(`SELECT ${columns} FROM sessions WHERE workspace = ? AND id = ?`);
  const insert = db.prepare(`INSERT INTO sessions (${columns})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const moving = 'seq = ?, hash = ?, at = ?, epoch = ?, summary = ?, status = ?, updated_at = ?';
  const update = db.prepare(`UPDATE sessions SET ${moving} WHERE workspace = ? AND id = ?`);
  const updateSpan = db.prepare(`UPDATE sessions SET ${moving}, updated_span = ? WHERE workspace = ? AND id = ?`);
  const describe = db.prepare(
    'UPDATE sessions SET summary = ?, status = ?, updated_at = ?, updated_span = ? WHERE workspace = ? AND id = ?',
  );
  const moveHead = db.prepare('UPDATE sessions SET seq = ?, hash = ?, at = ? WHERE workspace = ? AND id = ?');
  const markImported = db.prepare('UPDATE sessions SET imported_to = ? WHERE workspace = ? AND id = ?');
  const starts = db.prepare(
    'SELECT id AS session, ifnull(forked_at, 0) AS forkedAt, seq, imported_to AS importedTo, summary, root FROM sessions WHERE workspace = ?',
  );
  const rootOf = db.prepare('SELECT root FROM sessions WHERE workspace = ? AND id = ?');
  const family = lazyStatement(db, familyQuery);
  const link = db.prepare('SELECT parent, forked_at AS forkedAt FROM sessions WHERE workspace = ? AND id = ?');
  const page = (where: string, order: string) => {
    const select = (status: string) =>
      lazyStatement(
        db,
        `SELECT id, seq, at, status, updated_at, summary FROM sessions
        WHERE workspace = ? AND ${where} ${status} ORDER BY ${order} LIMIT ?`,
      );
    return { anyStatus: select(''), someStatus: select(`AND ${listedStatus} IN (SELECT value FROM json_each(?))`) };
  };
  const byChange = page(
    'updated_span <= ? AND (updated_at, id) < (?, ?)',
    'updated_span DESC, updated_at DESC, id DESC',
  );
  const byId = page('id > ?', 'id');
  const head: Sessions['head'] = ({ workspace, session }) => {
    const row = one.get(workspace, session) as Row | undefined;
    return row && headOf(row);
  };
  const links = new BoundedMap<string, Origin>(maxLinks);
  /** Caches a bounded number of fork points, because the fork point of a session never changes. */
  const linkOf = (workspace: WorkspaceId, session: SessionId): Origin | undefined => {
    const key = sessionKeyName({ workspace, session });
    const known = links.get(key) ?? (link.get(workspace, session) as Origin | undefined);
    if (known) links.set(key, known);
    return known;
  };
  const lineage: Sessions['lineage'] = ({ workspace, session }) => lineageOf(session, (id) => linkOf(workspace, id));

  return {
    head,
    insert: ({ workspace, session, parent, root, ...head }) => {
      const span = spanOf(head.summary.updatedAt);
      insert.run(workspace, session, parent?.session ?? null, parent?.seq ?? null, root, ...movingColumns(head), span);
    },
    update: (head, before) => {
      const span = spanOf(head.summary.updatedAt);
      const columns = movingColumns(head);
      const isInPlace = before.isListed && span === spanOf(before.summary.updatedAt);
      if (isInPlace) update.run(...columns, head.workspace, head.session);
      else updateSpan.run(...columns, span, head.workspace, head.session);
    },
    list: (workspace, { status, limit, after, by = 'change' }) => {
      const { anyStatus, someStatus } = by === 'id' ? byId : byChange;
      const { updatedAt, id } = after ?? { updatedAt: Number.POSITIVE_INFINITY, id: '' };
      const from = by === 'id' ? [workspace, id] : [workspace, spanOf(updatedAt), updatedAt, id];
      const rows = status ? someStatus().all(...from, JSON.stringify(status), limit) : anyStatus().all(...from, limit);
      return rows.map((row) => listedSummary(row as unknown as Row));
    },
    rootOf: ({ workspace, session }) => rootOf.get(workspace, session)?.root as SessionId | undefined,
    family: ({ workspace, session }) => {
      const root = rootOf.get(workspace, session)?.root;
      const rows = root === undefined ? [] : family().all(workspace, root);
      return inFamilyOrder(rows.map((row) => memberOf(row as unknown as Row)));
    },
    lineage,
    spans: (workspace, { session, ranges }) =>
      spansOf(segmentsOf(lineage({ workspace, session }) ?? [], Number.MAX_SAFE_INTEGER), ranges),
    starts: (workspace) => starts.all(workspace) as unknown as readonly SessionStart[],
    describe: ({ workspace, session }, summary) => {
      const { status, updatedAt } = summary;
      describe.run(JSON.stringify(summary), status, updatedAt, spanOf(updatedAt), workspace, session);
    },
    moveHead: ({ workspace, session }, { seq, hash, at }) => void moveHead.run(seq, hash, at, workspace, session),
    markImported: ({ workspace, session }, upTo) => void markImported.run(upTo, workspace, session),
    forgetLineages: () => links.clear(),
  };
};
