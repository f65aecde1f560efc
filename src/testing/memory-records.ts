import type { RecordQuery, RecordRef, RecordWrite, StoredRecord } from '../core/ports/records.ts';
import type { RecordKind } from '../schema/record-kind.ts';
import { areOnVersion, recordName } from '../stores/log/stored-record.ts';
import type { MemoryWorkspace } from './memory-database.ts';

let lastVersion = 0;

export const findRecordIn = ({ records }: MemoryWorkspace, ref: RecordRef): StoredRecord | undefined =>
  structuredClone(records.get(recordName(ref)));

const byId = (a: StoredRecord, b: StoredRecord): number => (a.id < b.id ? -1 : 1);

const isBehind = ({ id }: StoredRecord, after: string | undefined, order: string): boolean =>
  after === undefined || (order === 'ascending' ? id > after : id < after);

export const listRecordsIn = (
  { records }: MemoryWorkspace,
  kind: RecordKind,
  query: RecordQuery,
): readonly StoredRecord[] => {
  const sorted = [...records.values()].filter((record) => record.kind === kind).sort(byId);
  if ('dueBy' in query) {
    const due = sorted.filter(({ dueAt }) => dueAt !== undefined && dueAt <= query.dueBy);
    return structuredClone(due.sort((a, b) => a.dueAt! - b.dueAt!).slice(0, query.limit));
  }
  const { after, order = 'ascending', limit } = query;
  if (order === 'descending') sorted.reverse();
  return structuredClone(sorted.filter((record) => isBehind(record, after, order)).slice(0, limit));
};

export const writeRecordsIn = ({ records }: MemoryWorkspace, writes: readonly RecordWrite[]): boolean => {
  if (!areOnVersion(writes, (write) => records.get(recordName(write))?.version)) return false;
  for (const { kind, id, body, dueAt } of writes) {
    const name = recordName({ kind, id });
    if (body === undefined) records.delete(name);
    else {
      const version = ++lastVersion;
      const kept = { kind, id, version, at: Date.now(), ...(dueAt !== undefined && { dueAt }), body };
      records.set(name, structuredClone(kept));
    }
  }
  return true;
};
