import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';

/**
 * The tables of a SQLite store that must not change. The audit log is excluded because rejected requests are recorded
 * there.
 */
const tables: Readonly<Record<string, string>> = {
  events: 'SELECT * FROM events ORDER BY workspace, session, seq',
  sessions: 'SELECT * FROM sessions ORDER BY workspace, id',
  keys: 'SELECT * FROM keys ORDER BY 1, 2, 3',
  blobs: 'SELECT workspace, hash FROM blobs ORDER BY 1, 2',
  commit_paths: 'SELECT * FROM commit_paths ORDER BY 1, 2, 3, 4',
  tool_calls: 'SELECT * FROM tool_calls ORDER BY 1, 2, 3',
  records: "SELECT * FROM records WHERE kind <> 'audit' ORDER BY workspace, kind, id",
};

/** The row count and digest of each table; equal as long as nothing was written. */
export const storeImage = (file: string): Readonly<Record<string, string>> => {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return Object.fromEntries(
      Object.entries(tables).map(([table, sql]) => {
        const rows = database.prepare(sql).all();
        const text = JSON.stringify(rows, (_, value) =>
          value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
        );
        return [table, `${rows.length} ${createHash('sha256').update(text).digest('hex')}`];
      }),
    );
  } finally {
    database.close();
  }
};
