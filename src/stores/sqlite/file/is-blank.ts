import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isBegun } from './migrations.ts';

/** A page, as large as SQLite has them: with tables there are more. */
const maxBytes = 65_536;

/** Whether it is a database in which nothing was ever made. Of what cannot be read, opening it tells more. */
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
