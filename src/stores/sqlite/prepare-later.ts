import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Not before it is used: what makes lost tables anew must open without them. */
export const prepareLater = (db: DatabaseSync, sql: string): (() => StatementSync) => {
  let statement: StatementSync | undefined;
  return () => {
    statement ??= db.prepare(sql);
    return statement;
  };
};
