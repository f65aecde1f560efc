import type { DatabaseSync } from 'node:sqlite';
import { BoundedMap } from '../../../concurrency/bounded-map.ts';
import type { SessionValue } from '../../../core/ports/session-value.ts';
import {
  type EventRanges,
  type FamilyMember,
  type Head,
  type ListedSessions,
  type ListQuery,
  type SessionKey,
  sessionKeyName,
} from '../../../core/ports/store.ts';
import { anySession } from '../../../core/session/session-values.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { inFamilyOrder } from '../../log/family-order.ts';
import { type LineageLink, lineageOf, type Origin, type Segment, segmentsOf, spansOf } from '../../log/lineage.ts';
import type { PlacedHead } from '../../log/listing-key.ts';
import { type HeadRow, headOf as headIn, memberOf } from '../../log/stored-head.ts';
import { listedSummary, summaryText } from '../../log/stored-summary.ts';
import { lazyStatement } from '../file/lazy-statement.ts';
import { openSessionLister } from './list-sessions.ts';
import { openSessionValues } from './session-values.ts';

/** A session with the seq before its own first event, and the seq that its row names as head. */
export interface SessionStart extends LineageLink {
  readonly seq: number;
  /** Events up to this seq came from an import. */
  readonly importedTo: number;
  readonly summary: string;
  readonly root: SessionId;
}

export interface Sessions {
  head(key: SessionKey): PlacedHead | undefined;
  /** Returns the head with its place in the index of listings, like `update`. */
  insert(head: Head): PlacedHead;
  /** `before` is the stored head. */
  update(head: Head, before: PlacedHead): PlacedHead;
  list(workspace: WorkspaceId, query: ListQuery): ListedSessions;
  /** The values by which listings find the session. */
  values(key: SessionKey): readonly SessionValue[];
  family(key: SessionKey): readonly FamilyMember[];
  /** The root of the session's family; undefined when the session does not exist. */
  rootOf(key: SessionKey): SessionId | undefined;
  /** Links from the session to its root; undefined when the session does not exist. */
  lineage(key: SessionKey): readonly LineageLink[] | undefined;
  /** The segments that store the events of these ranges, newest first. */
  spans(workspace: WorkspaceId, within: EventRanges): readonly Segment[];
  starts(workspace: WorkspaceId): readonly SessionStart[];
  /** Replaces only the summary and the account. */
  describe(key: SessionKey, state: Pick<Head, 'summary' | 'account'>): void;
  /** Rewrites the values by which listings find the session, even if its summary cannot be read. */
  relist(key: SessionKey): void;
  moveHead(key: SessionKey, head: Pick<Head, 'seq' | 'hash' | 'at'>): void;
  markImported(key: SessionKey, from: number, to: number): void;
  /** Call this after a rollback, because the cache may hold values that were rolled back. */
  forgetLineages(): void;
}

interface Row extends HeadRow {
  readonly workspace: WorkspaceId;
}

const columns = 'workspace, id, parent, forked_at, root, seq, hash, at, epoch, claim, summary, status, updated_at';
const listed = `(SELECT level || ':' || span FROM session_values v
  WHERE v.workspace = sessions.workspace AND v.session = sessions.id AND v.name = '${anySession.name}') AS listed`;
const maxLinks = 100_000;

const headOf = (row: Row): PlacedHead => headIn(row.workspace, row);

/** Forces the index, because the engine would otherwise scan all sessions of the workspace. */
export const familyQuery = `SELECT ${columns} FROM sessions WHERE workspace = ?1 AND id = ?2 AND parent IS NULL
  UNION ALL SELECT ${columns} FROM sessions INDEXED BY sessions_by_root
    WHERE workspace = ?1 AND root = ?2 AND parent IS NOT NULL`;

type Moving = Pick<Head, 'seq' | 'hash' | 'at' | 'epoch' | 'claim' | 'summary' | 'account'>;
/** The columns that every append changes, in the order of both statements. */
const movingColumns = (head: Moving) => {
  const { seq, hash, at, epoch, claim, summary } = head;
  return [seq, hash, at, epoch, claim, summaryText(head), summary.status, summary.updatedAt] as const;
};

export const openSessions = (db: DatabaseSync): Sessions => {
  const one = lazyStatement(db, `SELECT ${columns}, ${listed} FROM sessions WHERE workspace = ? AND id = ?`);
  const insert = db.prepare(`INSERT INTO sessions (${columns})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const moving = 'seq = ?, hash = ?, at = ?, epoch = ?, claim = ?, summary = ?, status = ?, updated_at = ?';
  const update = db.prepare(`UPDATE sessions SET ${moving} WHERE workspace = ? AND id = ?`);
  const describe = db.prepare(
    'UPDATE sessions SET summary = ?, status = ?, updated_at = ? WHERE workspace = ? AND id = ?',
  );
  const values = openSessionValues(db);
  const moveHead = db.prepare('UPDATE sessions SET seq = ?, hash = ?, at = ? WHERE workspace = ? AND id = ?');
  const markImported = db.prepare(`UPDATE sessions
    SET imported_from = iif(imported_to = 0, ?, imported_from), imported_to = ? WHERE workspace = ? AND id = ?`);
  const starts = db.prepare(
    'SELECT id AS session, ifnull(forked_at, 0) AS forkedAt, seq, imported_to AS importedTo, summary, root FROM sessions WHERE workspace = ?',
  );
  const rootOf = db.prepare('SELECT root FROM sessions WHERE workspace = ? AND id = ?');
  const family = lazyStatement(db, familyQuery);
  const link = db.prepare('SELECT parent, forked_at AS forkedAt FROM sessions WHERE workspace = ? AND id = ?');
  const list = openSessionLister(db);
  const head: Sessions['head'] = ({ workspace, session }) => {
    const row = one().get(workspace, session) as Row | undefined;
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
    insert: (head) => {
      const { workspace, session, parent, root } = head;
      insert.run(workspace, session, parent?.session ?? null, parent?.seq ?? null, root, ...movingColumns(head));
      return { ...head, listing: values.write(head, undefined) };
    },
    update: (head, before) => {
      update.run(...movingColumns(head), head.workspace, head.session);
      return { ...head, listing: values.write(head, before) };
    },
    list,
    values: values.of,
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
    describe: ({ workspace, session }, state) => {
      const { status, updatedAt } = state.summary;
      describe.run(summaryText(state), status, updatedAt, workspace, session);
    },
    relist: (key) => {
      const row = one().get(key.workspace, key.session) as Row | undefined;
      if (row) values.write({ ...key, summary: listedSummary(row) }, undefined);
    },
    moveHead: ({ workspace, session }, { seq, hash, at }) => void moveHead.run(seq, hash, at, workspace, session),
    markImported: ({ workspace, session }, from, to) => void markImported.run(from, to, workspace, session),
    forgetLineages: () => links.clear(),
  };
};
