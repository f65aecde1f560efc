import type { Head, SessionKey } from '../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { Database } from './database.ts';
import { Lineages } from './lineages.ts';
import { readEvents } from './read-events.ts';
import { findRecord } from './record-rows.ts';
import { findHead } from './sessions.ts';
import { findSnapshot } from './snapshots.ts';

/** Nobody's: it is not an id. */
const nothing: SessionKey = { workspace: 'local' as WorkspaceId, session: 'none' as SessionId };

/**
 * Asks once for what opening a session asks for. A connection reads catalogues and plans a statement when it meets it for the first time,
 * which takes a third of the time that opening a session takes then.
 */
export const meetFirstReads = async (database: Database): Promise<void> => {
  const lineages = new Lineages(database);
  lineages.learn(nothing as Head);
  await findHead(database, lineages, nothing);
  await readEvents(database, lineages, nothing, { limit: 1, order: 'descending' });
  await findSnapshot(database, lineages, nothing, { seq: 1, foldVersion: 0 });
  await findRecord(database, nothing.workspace, 'secret', '');
};
