import type { DatabaseSync } from 'node:sqlite';
import { callsForWork } from '../../../core/ports/queue.ts';
import type { SessionKey, StoredEvent } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { RebuiltSession } from '../../log/rebuilt-session.ts';
import { parseSummary } from '../../log/stored-summary.ts';
import { inTransaction } from '../file/in-transaction.ts';
import {
  countedBlobsIndex,
  ledgerTable,
  logIndexes,
  projectionNames,
  projectionTables,
  snapshotTable,
} from '../file/migrations.ts';
import { type EventReader, openEventReader } from './read-events.ts';
import type { SessionStart } from './sessions.ts';
import { openTables, type Tables } from './tables.ts';

const page = { limit: 1000, maxBytes: 4 * 1024 * 1024 };

function* ownEvents(
  reader: EventReader,
  { workspace, session }: SessionKey,
  forkedAt: number,
): Generator<StoredEvent, void> {
  for (let from = forkedAt + 1; ; ) {
    const events = reader.readSegments(workspace, [{ session, from, to: Number.MAX_SAFE_INTEGER }], page);
    const last = events.at(-1);
    if (!last) return;
    yield* events;
    from = last.seq + 1;
  }
}

/** Queues no work: a migration must not wake every session that ever had some. */
const unqueued = (tables: Tables): Tables => ({ ...tables, work: { ...tables.work, enter: () => undefined } });

/** Returns the number of events read. */
const rebuildSession = (
  tables: Tables,
  reader: EventReader,
  key: SessionKey,
  { forkedAt, seq, importedTo, summary: kept, root }: SessionStart,
): number => {
  const rebuilt = new RebuiltSession(importedTo, parseSummary(kept));
  let count = 0;
  let called: StoredEvent | undefined;
  for (const event of ownEvents(reader, key, forkedAt)) {
    tables.projections.add(key.workspace, event, root);
    if (event.seq > importedTo && callsForWork.has(event.type)) called = event;
    const wrong = rebuilt.add(event);
    if (wrong) tables.events.markTurn(key, event.seq, wrong.opensTurn);
    count += 1;
  }
  const head = rebuilt.headFrom(seq);
  if (head) tables.sessions.moveHead(key, head);
  if (rebuilt.state) tables.sessions.describe(key, rebuilt.state);
  tables.sessions.relist(key);
  const summary = rebuilt.state?.summary ?? parseSummary(kept);
  if (called && summary) tables.work.enter(key, summary, [called]);
  return count;
};

const rebuildWorkspace = (tables: Tables, reader: EventReader, workspace: WorkspaceId): number => {
  tables.projections.clear(workspace);
  tables.snapshots.clear(workspace);
  const count = tables.sessions
    .starts(workspace)
    .reduce((sum, start) => sum + rebuildSession(tables, reader, { workspace, session: start.session }, start), 0);
  tables.ledger.recount(workspace);
  return count;
};

const projectionsThere = `SELECT count(*) AS found FROM sqlite_schema
  WHERE name IN (${projectionNames.map((name) => `'${name}'`).join(', ')})`;

const workspacesOf = (db: DatabaseSync): readonly WorkspaceId[] =>
  db
    .prepare('SELECT DISTINCT workspace FROM sessions')
    .all()
    .map(({ workspace }) => workspace as WorkspaceId);

/**
 * Recreates missing tables. Returns the workspaces that lost their projections with them. Snapshots are recreated on
 * demand.
 */
const restoreTables = (db: DatabaseSync): readonly WorkspaceId[] => {
  const { found } = db.prepare(projectionsThere).get() as { found: number };
  db.exec(`${projectionTables} ${ledgerTable} ${snapshotTable} ${logIndexes} ${countedBlobsIndex}`);
  return found === projectionNames.length ? [] : workspacesOf(db);
};

/**
 * Rebuilds the rows from the log, exactly as appends write them. If the summary needs an unreadable event, the session
 * keeps its stored summary. Snapshots are recreated when sessions are next opened.
 */
export const rebuildProjections = (
  db: DatabaseSync,
  tables: Tables,
  reader: EventReader,
  workspace: WorkspaceId,
): number => {
  try {
    return inTransaction(db, () => {
      tables.admission.check();
      for (const other of restoreTables(db)) if (other !== workspace) rebuildWorkspace(tables, reader, other);
      return rebuildWorkspace(tables, reader, workspace);
    });
  } finally {
    tables.heads.forget();
  }
};

/** Like `rebuildProjections`, for all workspaces, within the transaction of a migration. The queue stays as it is. */
export const rebuildEveryWorkspace = (db: DatabaseSync, file: string, release: string): void => {
  const workspaces = workspacesOf(db);
  if (workspaces.length === 0) return;
  const tables = unqueued(openTables(db, file, release));
  const reader = openEventReader(db, tables.sessions, tables.blobs);
  for (const workspace of workspaces) rebuildWorkspace(tables, reader, workspace);
};
