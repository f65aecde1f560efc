import type { RecordQuery, RecordWrite, StoredRecord } from '../../../core/ports/records.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import type { RecordKind } from '../../../schema/record-kind.ts';
import { areOnVersion, behindAllIds, type RecordRow, recordName, recordOf } from '../../log/stored-record.ts';
import { type Database, exchange, prepared, type Source } from '../server/database.ts';
import { isConnectionLost, isUndone, unknownOutcome } from '../server/store-error.ts';
import { recountLedger } from './ledger-rows.ts';

const select = (name: string, which: string) =>
  prepared(
    name,
    `select kind, id, version, at, due_at as "dueAt", body from perdure.records where workspace = $1 and kind = $2 ${which}`,
  );

const one = select('find_record', 'and id = $3');
const ascending = select('list_records', 'and id > $3 order by id limit $4');
const descending = select('list_records_back', 'and id < $3 order by id desc limit $4');
const due = select('find_due_records', 'and due_at <= $3 order by due_at, id limit $4');

/** Locks in a fixed order, like all writers, so that two writers cannot deadlock. */
const lock = prepared(
  'lock_records',
  `select r.kind, r.id, r.version from perdure.records r join unnest($2::text[], $3::text[]) asked(kind, id) using (kind, id)
   where r.workspace = $1 order by r.kind, r.id for update of r`,
);

const remove = prepared(
  'remove_records',
  `delete from perdure.records r using unnest($2::text[], $3::text[]) gone(kind, id)
   where r.workspace = $1 and r.kind = gone.kind and r.id = gone.id`,
);

/** Skips a record that another writer changed or created meanwhile; it is then missing from the result. */
const put = prepared(
  'put_records',
  `insert into perdure.records as r (workspace, kind, id, due_at, body)
   select $1, n.kind, n.id, n.due_at, n.body
   from unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[]) n(kind, id, on_version, due_at, body)
   order by n.kind, n.id
   on conflict (workspace, kind, id) do update
   set version = excluded.version, at = excluded.at, due_at = excluded.due_at, body = excluded.body
   where r.version = any($4::bigint[])
   returning r.id`,
);

export const findRecord = async (
  source: Source,
  workspace: WorkspaceId,
  kind: RecordKind,
  id: string,
): Promise<StoredRecord | undefined> => {
  const [row] = await source.read<RecordRow>(workspace, one(workspace, kind, id));
  return row && recordOf(row);
};

const queryFor = (workspace: WorkspaceId, kind: RecordKind, query: RecordQuery) => {
  if ('dueBy' in query) return due(workspace, kind, query.dueBy, query.limit);
  const { after, order, limit } = query;
  if (order === 'descending') return descending(workspace, kind, after ?? behindAllIds, limit);
  return ascending(workspace, kind, after ?? '', limit);
};

export const listRecords = async (
  database: Database,
  workspace: WorkspaceId,
  kind: RecordKind,
  query: RecordQuery,
): Promise<readonly StoredRecord[]> =>
  (await database.read<RecordRow>(workspace, queryFor(workspace, kind, query))).map(recordOf);

const namesOf = (writes: readonly RecordWrite[]) => [writes.map(({ kind }) => kind), writes.map(({ id }) => id)];

/** Versions are unique in the database. So a row whose version is in the list has the version that its write names. */
const putAll = (workspace: WorkspaceId, puts: readonly RecordWrite[]) =>
  put(
    workspace,
    ...namesOf(puts),
    puts.map(({ onVersion }) => onVersion),
    puts.map(({ dueAt }) => dueAt ?? null),
    puts.map(({ body }) => JSON.stringify(body)),
  );

export const writeRecords = (
  database: Database,
  workspace: WorkspaceId,
  writes: readonly RecordWrite[],
): Promise<boolean> => {
  const opening = database.opening(workspace, 'read write');
  const puts = writes.filter(({ body }) => body !== undefined);
  const removals = writes.filter(({ body }) => body === undefined);
  let sent = false;
  const write = () =>
    database.use(async (client) => {
      const [, locked] = await exchange(client, [opening, lock(workspace, ...namesOf(writes))]);
      const versions = new Map(locked!.rows.map((row) => [recordName(row), row.version as number]));
      const isOn = areOnVersion(writes, (write) => versions.get(recordName(write)));
      const [made] = isOn
        ? await exchange(client, [putAll(workspace, puts), remove(workspace, ...namesOf(removals))])
        : [];
      const isDone = made?.rows.length === puts.length;
      if (isDone && writes.some(({ kind }) => kind === 'quota')) await recountLedger(client, workspace);
      sent = isDone;
      await exchange(client, isDone ? [database.admission, 'commit'] : ['rollback']);
      return isDone;
    });
  // Until the commit is sent, nothing has happened, so a lost connection is safe to retry.
  const attempt = async (isLast: boolean): Promise<boolean> => {
    sent = false;
    try {
      return await write();
    } catch (error) {
      const isLost = isConnectionLost(error);
      if (isLost && sent) throw unknownOutcome(error);
      if (isLast || !(isLost || isUndone(error))) throw error;
      return attempt(true);
    }
  };
  return attempt(false);
};
