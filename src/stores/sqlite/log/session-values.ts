import type { DatabaseSync } from 'node:sqlite';
import type { SessionValue } from '../../../core/ports/session-value.ts';
import type { SessionKey } from '../../../core/ports/store.ts';
import { isUnchanged, type ListedHead, listingChange } from '../../log/listing-change.ts';
import { type ListingKey, ListingKeys, type PlacedHead } from '../../log/listing-key.ts';
import { lazyStatement } from '../file/lazy-statement.ts';

/** The rows by which listings find sessions. */
export interface SessionValues {
  /** Writes what changed since the stored head `before`. Returns the session's place in the index. */
  write(head: ListedHead, before: PlacedHead | undefined): ListingKey;
  of(key: SessionKey): readonly SessionValue[];
}

export const openSessionValues = (db: DatabaseSync): SessionValues => {
  const later = (sql: string) => lazyStatement(db, sql);
  const one = 'workspace = ? AND session = ?';
  const clear = later(`DELETE FROM session_values WHERE ${one}`);
  const drop = later(`DELETE FROM session_values WHERE ${one} AND name = ? AND value = ?`);
  const move = later(`UPDATE session_values SET level = ?, span = ? WHERE ${one}`);
  const add = later(`INSERT OR REPLACE INTO session_values
    (workspace, session, name, value, level, span) VALUES (?, ?, ?, ?, ?, ?)`);
  const list = later(`SELECT name, value FROM session_values WHERE ${one}`);
  const keys = new ListingKeys();
  return {
    write: (head, before) => {
      const { workspace, session } = head;
      const change = listingChange(keys, head, before);
      const { key, isNew, isMoved, dropped, added } = change;
      if (isUnchanged(change)) return key;
      if (isNew) clear().run(workspace, session);
      for (const { name, value } of dropped) drop().run(workspace, session, name, value);
      if (isMoved) move().run(key.level, key.span, workspace, session);
      for (const { name, value } of added) add().run(workspace, session, name, value, key.level, key.span);
      return key;
    },
    of: ({ workspace, session }) =>
      list()
        .all(workspace, session)
        .map(({ name, value }) => ({ name: String(name), value: String(value) })),
  };
};
