import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isBegun } from './migrations.ts';

/** The largest page size of SQLite. A database with tables has more than one page. */
const maxBytes = 65_536;

/**
 * Whether the file is a database in which nothing was ever created. Unreadable files return false, because opening
 * them reports more.
 */
export const isBlank = (file: string): boolean => {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 || size > maxBytes) return false;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file);
    return !isBegun(db, file);
  } catch {
    return false;
  } finally {
    db?.close();
  }
};
