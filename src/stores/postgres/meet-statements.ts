import type { Head, SessionKey } from '../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import { Lineages } from './log/lineages.ts';
import { readEvents } from './log/read-events.ts';
import { findRecord } from './log/record-rows.ts';
import { findHead } from './log/sessions.ts';
import { findSnapshot } from './log/snapshots.ts';
import type { Database } from './server/database.ts';

/** Not a valid id, so no session matches. */
const nothing: SessionKey = { workspace: 'local' as WorkspaceId, session: 'none' as SessionId };

/** Presets the lineage of the session, so that reads send their queries although it does not exist. */
const lineagesWith = (database: Database, { workspace, session }: SessionKey): Lineages => {
  const lineages = new Lineages(database);
  lineages.learn({ workspace, session } as Head);
  return lineages;
};

/**
 * Runs the queries that open a session once in advance. A connection reads catalogs and plans a statement at its first
 * use, so the first session would otherwise wait for that.
 */
export const meetStatements = async (database: Database): Promise<void> => {
  const lineages = lineagesWith(database, nothing);
  await findHead(database, lineages, nothing);
  await readEvents(database, lineages, nothing, { limit: 1, order: 'descending' });
  await findSnapshot(database, lineages, nothing, { seq: 1, foldVersion: 0 });
  await findRecord(database, nothing.workspace, 'secret', '');
};
