import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Caches statements whose text depends on the query. There are few variants, and each is prepared once. */
export const prepareOnce = (db: DatabaseSync, rows: 'arrays' | 'objects'): ((text: string) => StatementSync) => {
  const prepared = new Map<string, StatementSync>();
  return (text) => {
    const known = prepared.get(text);
    if (known) return known;
    const statement = db.prepare(text);
    statement.setReturnArrays(rows === 'arrays');
    prepared.set(text, statement);
    return statement;
  };
};
