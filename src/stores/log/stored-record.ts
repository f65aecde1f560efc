import type { RecordRef, RecordWrite, StoredRecord } from '../../core/ports/records.ts';

export type RecordRow = Omit<StoredRecord, 'dueAt' | 'body'> & { readonly dueAt: number | null; readonly body: string };

export const recordOf = ({ kind, id, version, at, dueAt, body }: RecordRow): StoredRecord => ({
  kind,
  id,
  version,
  at,
  ...(dueAt !== null && { dueAt }),
  body: JSON.parse(body),
});

/** Sorts after every id, so that the first page of a descending list uses the same query as the others. */
export const behindAllIds = '\u{10ffff}';

/** The unique name of a record: no kind contains a space. */
export const recordName = ({ kind, id }: RecordRef): string => `${kind} ${id}`;

/** Whether every write names the stored version of its record, and no record occurs twice. */
export const areOnVersion = (
  writes: readonly RecordWrite[],
  versionOf: (write: RecordWrite) => number | undefined,
): boolean =>
  new Set(writes.map(recordName)).size === writes.length &&
  writes.every((write) => (versionOf(write) ?? 0) === write.onVersion);
