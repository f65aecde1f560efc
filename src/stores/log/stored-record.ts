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

/** Sorts behind every id, so that a list that begins at the end is found like one that goes on. */
export const behindAllIds = '\u{10ffff}';

/** No kind has a space. */
export const recordName = ({ kind, id }: RecordRef): string => `${kind} ${id}`;

/** Whether every write names the version that is there, and no record comes twice. */
export const areOnVersion = (
  writes: readonly RecordWrite[],
  versionOf: (write: RecordWrite) => number | undefined,
): boolean =>
  new Set(writes.map(recordName)).size === writes.length &&
  writes.every((write) => (versionOf(write) ?? 0) === write.onVersion);
