import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** For statements whose text depends on what is asked for: there are few forms, and each is prepared once. */
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
