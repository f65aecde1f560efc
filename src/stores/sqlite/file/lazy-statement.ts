import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * Prepares the statement at its first use. If its table or index is lost, everything else still works, including the
 * repair.
 */
export const lazyStatement = (db: DatabaseSync, sql: string): (() => StatementSync) => {
  let statement: StatementSync | undefined;
  return () => {
    statement ??= db.prepare(sql);
    return statement;
  };
};
