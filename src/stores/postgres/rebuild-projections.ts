import type pg from 'pg';
import type { SessionKey, StoredEvent } from '../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import { foldSummary, type SummaryFold } from '../summary-fold.ts';
import { type Database, exchange, prepared, type Source } from './database.ts';
import { describeSession } from './head-rows.ts';
import { waitForOthers } from './import-copies.ts';
import { restoreProjectionTables } from './migrations.ts';
import { insertProjections } from './projection-rows.ts';
import { readSegments } from './read-events.ts';
import { enterWork } from './work-rows.ts';

const page = { limit: 1000, maxBytes: 4 * 1024 * 1024 };

interface Start {
  readonly session: SessionId;
  readonly forked_at: number;
  readonly seq: number;
}

/** Holds every append to a session of the workspace until the end, and leaves alone the sessions that are made meanwhile. */
const lockAll = prepared(
  'lock_workspace',
  `select id as session, coalesce(forked_at, 0) as forked_at, seq
   from perdure.sessions where workspace = $1 order by id for update`,
);

const clear = (table: string) =>
  prepared(`clear_${table}`, `delete from perdure.${table} where workspace = $1 and session = any($2::text[])`);
const clearPaths = clear('commit_paths');
const clearCalls = clear('tool_calls');

async function* ownPages(
  source: Source,
  workspace: WorkspaceId,
  { session, forked_at, seq }: Start,
): AsyncGenerator<readonly StoredEvent[], void> {
  for (let from = forked_at + 1; from <= seq; ) {
    const events = await readSegments(source, workspace, [{ session, from, to: seq }], page);
    const last = events.at(-1);
    if (!last) return;
    yield events;
    from = last.seq + 1;
  }
}

/** The number of events read. */
const rebuildSession = async (client: pg.Client, source: Source, key: SessionKey, start: Start): Promise<number> => {
  let summary: SummaryFold;
  let count = 0;
  for await (const events of ownPages(source, key.workspace, start)) {
    await exchange(client, [...insertProjections(key.workspace, events), enterWork(key, events)]);
    summary = events.reduce(foldSummary, summary);
    count += events.length;
  }
  if (summary && summary !== 'unreadable') await exchange(client, [describeSession(key, summary)]);
  return count;
};

/** Row by row from the log, as the appends wrote them. A session whose summary needs an event that cannot be read keeps the one it has. */
export const rebuildProjections = async (database: Database, workspace: WorkspaceId): Promise<number> =>
  database.use(async (client) => {
    const source: Source = { read: async (_, statement) => (await client.query(statement)).rows };
    try {
      const opening = [database.opening(workspace, 'read write'), waitForOthers(workspace), lockAll(workspace)];
      const [, , locked] = await exchange(client, opening);
      const starts = locked!.rows as readonly Start[];
      const ids = starts.map(({ session }) => session);
      await restoreProjectionTables(client);
      await exchange(client, [clearPaths(workspace, ids), clearCalls(workspace, ids)]);
      let count = 0;
      for (const start of starts) {
        count += await rebuildSession(client, source, { workspace, session: start.session }, start);
      }
      await exchange(client, ['commit']);
      return count;
    } catch (error) {
      await exchange(client, ['rollback']).catch(() => undefined);
      throw error;
    }
  });
