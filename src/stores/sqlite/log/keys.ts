import type { DatabaseSync } from 'node:sqlite';
import type { SessionKey, StoredKey } from '../../../core/ports/store.ts';

export interface Keys {
  /** All keys of the session, or only the named one. */
  list(key: SessionKey, only?: string): readonly StoredKey[];
  one(key: SessionKey, name: string): StoredKey | undefined;
  insert(key: SessionKey, stored: StoredKey): void;
}

export const openKeys = (db: DatabaseSync): Keys => {
  const select = (which: string) =>
    db.prepare(`SELECT key, body_hash AS bodyHash, seq, count FROM keys WHERE workspace = ? AND session = ? ${which}`);
  const all = select('ORDER BY seq, key');
  const one = select('AND key = ?');
  const insert = db.prepare('INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)');
  const keyOf = (row: object): StoredKey => ({ ...(row as StoredKey) });
  const named: Keys['one'] = ({ workspace, session }, name) => {
    const row = one.get(workspace, session, name);
    return row && keyOf(row);
  };
  return {
    one: named,
    list: (key, only) =>
      only === undefined ? all.all(key.workspace, key.session).map(keyOf) : [named(key, only) ?? []].flat(),
    insert: ({ workspace, session }, { key, bodyHash, seq, count }) => {
      insert.run(workspace, session, key, bodyHash, seq, count);
    },
  };
};
