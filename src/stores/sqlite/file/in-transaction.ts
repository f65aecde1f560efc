import type { DatabaseSync } from 'node:sqlite';

/**
 * Runs the work in a transaction. Acquires the write lock at the beginning, so that everything read inside stays
 * valid.
 */
export const inTransaction = <T>(db: DatabaseSync, work: () => T): T => {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
};
