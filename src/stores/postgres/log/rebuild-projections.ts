import type pg from 'pg';
import { callsForWork } from '../../../core/ports/queue.ts';
import type { SessionKey, StoredEvent } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { isCount } from '../../is-count.ts';
import { RebuiltSession } from '../../log/rebuilt-session.ts';
import { listedSummary, parseSummary } from '../../log/stored-summary.ts';
import { workEntryOf } from '../../queue/work-entry.ts';
import { enterWork } from '../queue/work-rows.ts';
import { type Database, exchange, prepared, type Source } from '../server/database.ts';
import { describeSession, moveHead } from './head-rows.ts';
import { waitForOthers } from './import-copies.ts';
import { recountLedger } from './ledger-rows.ts';
import { projectionNames, restoreProjectionTables } from './migrations.ts';
import { insertProjections } from './projection-rows.ts';
import { readSegments } from './read-events.ts';
import { writeValues } from './session-values.ts';

const page = { limit: 1000, maxBytes: 4 * 1024 * 1024 };

interface Start {
  readonly session: SessionId;
  readonly forked_at: number;
  readonly seq: number;
  readonly at: number;
  readonly status: string;
  readonly updated_at: number;
  readonly imported_to: number;
  readonly summary: string;
}

/**
 * Blocks appends to all existing sessions of the workspace until the transaction ends. Sessions created meanwhile are
 * left alone.
 */
const lockAll = prepared(
  'lock_workspace',
  `select id as session, coalesce(forked_at, 0) as forked_at, seq, at, status, updated_at, imported_to, summary
   from perdure.sessions where workspace = $1 order by id for update`,
);

const clear = (table: string) =>
  prepared(`clear_${table}`, `delete from perdure.${table} where workspace = $1 and session = any($2::text[])`);
const clears = [...projectionNames, 'snapshots'].map(clear);

const markTurns = prepared(
  'mark_turns',
  `update perdure.events set opens_turn = not opens_turn
   where workspace = $1 and session = $2 and seq = any($3::bigint[])`,
);

async function* ownPages(
  source: Source,
  workspace: WorkspaceId,
  { session, forked_at }: Start,
): AsyncGenerator<readonly StoredEvent[], void> {
  for (let from = forked_at + 1; isCount(from); ) {
    const events = await readSegments(source, workspace, [{ session, from, to: Number.MAX_SAFE_INTEGER }], page);
    const last = events.at(-1);
    if (!last) return;
    yield events;
    from = last.seq + 1;
  }
}

interface RebuildOptions {
  /** Whether sessions whose events call for work enter the queue. */
  readonly queues: boolean;
}

/** Returns the number of events read. */
const rebuildSession = async (
  client: pg.Client,
  key: SessionKey,
  start: Start,
  { queues }: RebuildOptions,
): Promise<number> => {
  const source: Source = { read: async (_, statement) => (await client.query(statement)).rows };
  const rebuilt = new RebuiltSession(start.imported_to, parseSummary(start.summary));
  let count = 0;
  let called: StoredEvent | undefined;
  for await (const events of ownPages(source, key.workspace, start)) {
    called = events.findLast(({ seq, type }) => seq > start.imported_to && callsForWork.has(type)) ?? called;
    const wrong = events.filter((event) => rebuilt.add(event)).map(({ seq }) => seq);
    await exchange(client, [
      ...insertProjections(key.workspace, events),
      wrong.length > 0 ? markTurns(key.workspace, key.session, wrong) : undefined,
    ]);
    count += events.length;
  }
  const head = rebuilt.headFrom(start.seq);
  const summary = rebuilt.state?.summary ?? parseSummary(start.summary);
  const entry = called && summary && workEntryOf(summary, [called]);
  // A session whose summary cannot be read is listed with the facts of its row.
  const listed = { ...key, summary: summary ?? listedSummary({ ...start, id: key.session }) };
  await exchange(client, [
    head && moveHead(key, head),
    rebuilt.state && describeSession(key, rebuilt.state),
    queues && entry ? enterWork(key, entry) : undefined,
    ...writeValues(key.workspace, [{ head: listed, before: undefined }]).statements,
  ]);
  return count;
};

/** Rebuilds the sessions of these rows, which the transaction has locked. */
const rebuildLocked = async (
  client: pg.Client,
  workspace: WorkspaceId,
  starts: readonly Start[],
  options: RebuildOptions,
): Promise<number> => {
  const ids = starts.map(({ session }) => session);
  await exchange(
    client,
    clears.map((clear) => clear(workspace, ids)),
  );
  let count = 0;
  for (const start of starts) {
    count += await rebuildSession(client, { workspace, session: start.session }, start, options);
  }
  await recountLedger(client, workspace);
  return count;
};

/**
 * Rebuilds the rows from the log, exactly as appends write them. If the summary needs an unreadable event, the session
 * keeps its stored summary. Snapshots are recreated when sessions are next opened.
 */
export const rebuildProjections = async (database: Database, workspace: WorkspaceId): Promise<number> =>
  database.feed(workspace, [waitForOthers(workspace), lockAll(workspace)], async (client, [, locked]) => {
    await restoreProjectionTables(client);
    return rebuildLocked(client, workspace, locked!.rows, { queues: true });
  });

/**
 * Like `rebuildProjections`, within the transaction of a migration. The queue stays as it is, because a migration must
 * not wake every session that ever had work.
 */
export const rebuildWorkspaces = async (client: pg.Client, workspaces: readonly WorkspaceId[]): Promise<void> => {
  for (const workspace of workspaces) {
    await client.query("select set_config('perdure.workspace', $1, true)", [workspace]);
    const { rows } = await client.query(lockAll(workspace));
    await rebuildLocked(client, workspace, rows, { queues: false });
  }
};
