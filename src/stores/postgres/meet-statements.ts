import type { Head, SessionKey } from '../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import { Lineages } from './log/lineages.ts';
import { readEvents } from './log/read-events.ts';
import { findRecord } from './log/record-rows.ts';
import { findHead } from './log/sessions.ts';
import { findSnapshot } from './log/snapshots.ts';
import type { Database } from './server/database.ts';

/** Nobody's: it is not an id. */
const nothing: SessionKey = { workspace: 'local' as WorkspaceId, session: 'none' as SessionId };

/** Where it comes from is known, so that what is read of it is asked for. */
const lineagesWith = (database: Database, { workspace, session }: SessionKey): Lineages => {
  const lineages = new Lineages(database);
  lineages.learn({ workspace, session } as Head);
  return lineages;
};

/**
 * Asks once for what opening a session asks for: a connection reads catalogues and plans a statement when it meets it for the first time,
 * and whoever opens the first session need not wait for that.
 */
export const meetStatements = async (database: Database): Promise<void> => {
  const lineages = lineagesWith(database, nothing);
  await findHead(database, lineages, nothing);
  await readEvents(database, lineages, nothing, { limit: 1, order: 'descending' });
  await findSnapshot(database, lineages, nothing, { seq: 1, foldVersion: 0 });
  await findRecord(database, nothing.workspace, 'secret', '');
};
