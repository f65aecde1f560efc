import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Not before it is used: where a table or an index is lost, all that needs none of it goes on, and makes it anew. */
export const lazyStatement = (db: DatabaseSync, sql: string): (() => StatementSync) => {
  let statement: StatementSync | undefined;
  return () => {
    statement ??= db.prepare(sql);
    return statement;
  };
};
