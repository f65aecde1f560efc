import type { DatabaseSync } from 'node:sqlite';
import type { RecordQuery, RecordWrite, StoredRecord } from '../../../core/ports/records.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import type { RecordKind } from '../../../schema/record-kind.ts';
import { areOnVersion, behindAllIds, type RecordRow, recordOf } from '../../log/stored-record.ts';

const select = (which: string): string =>
  `SELECT kind, id, version, at, due_at AS dueAt, body FROM records WHERE workspace = ?1 AND kind = ?2 ${which}`;

export const recordQueries = {
  one: select('AND id = ?3'),
  ascending: select('AND id > ?3 ORDER BY id LIMIT ?4'),
  descending: select('AND id < ?3 ORDER BY id DESC LIMIT ?4'),
  due: select('AND due_at <= ?3 ORDER BY due_at, id LIMIT ?4'),
} as const;

export interface RecordRows {
  one(workspace: WorkspaceId, kind: RecordKind, id: string): StoredRecord | undefined;
  list(workspace: WorkspaceId, kind: RecordKind, query: RecordQuery): readonly StoredRecord[];
  /** Must run inside a transaction. */
  write(workspace: WorkspaceId, writes: readonly RecordWrite[]): boolean;
}

export const openRecordRows = (db: DatabaseSync): RecordRows => {
  const one = db.prepare(recordQueries.one);
  const ascending = db.prepare(recordQueries.ascending);
  const descending = db.prepare(recordQueries.descending);
  const due = db.prepare(recordQueries.due);
  const put = db.prepare(
    'INSERT OR REPLACE INTO records (workspace, kind, id, at, due_at, body) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const remove = db.prepare('DELETE FROM records WHERE workspace = ? AND kind = ? AND id = ?');
  const rowsFor = (workspace: WorkspaceId, kind: RecordKind, query: RecordQuery) => {
    if ('dueBy' in query) return due.all(workspace, kind, query.dueBy, query.limit);
    const { after, order, limit } = query;
    if (order === 'descending') return descending.all(workspace, kind, after ?? behindAllIds, limit);
    return ascending.all(workspace, kind, after ?? '', limit);
  };
  const found: RecordRows['one'] = (workspace, kind, id) => {
    const row = one.get(workspace, kind, id);
    return row && recordOf(row as unknown as RecordRow);
  };
  return {
    one: found,
    list: (workspace, kind, query) =>
      rowsFor(workspace, kind, query).map((row) => recordOf(row as unknown as RecordRow)),
    write: (workspace, writes) => {
      if (!areOnVersion(writes, ({ kind, id }) => found(workspace, kind, id)?.version)) return false;
      for (const { kind, id, body, dueAt } of writes) {
        if (body === undefined) remove.run(workspace, kind, id);
        else put.run(workspace, kind, id, Date.now(), dueAt ?? null, JSON.stringify(body));
      }
      return true;
    },
  };
};
