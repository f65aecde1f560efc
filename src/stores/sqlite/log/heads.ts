import type { DatabaseSync } from 'node:sqlite';
import { BoundedMap } from '../../../concurrency/bounded-map.ts';
import { type Head, type SessionKey, sessionKeyName } from '../../../core/ports/store.ts';
import type { PlacedHead } from '../../log/listing-key.ts';
import type { Sessions } from './sessions.ts';

/** The writer's cache of heads. It is valid as long as no other connection has written. */
export interface Heads {
  /** Call this at the beginning of every transaction that reads heads. */
  refresh(): void;
  read(key: SessionKey): PlacedHead | undefined;
  write(head: Head): void;
  /** Call this after a rollback, because the cache may hold values that were rolled back. */
  forget(): void;
}

const maxHeads = 10_000;
export const openHeads = (db: DatabaseSync, sessions: Sessions): Heads => {
  const dataVersion = db.prepare('PRAGMA data_version');
  dataVersion.setReturnArrays(true);
  const heads = new BoundedMap<string, PlacedHead>(maxHeads);
  let version: unknown;
  const keep = (head: PlacedHead): PlacedHead => {
    heads.set(sessionKeyName(head), head);
    return head;
  };
  return {
    refresh: () => {
      const [now] = dataVersion.get() as unknown as unknown[];
      if (now !== version) heads.clear();
      version = now;
    },
    read: (key) => {
      const known = heads.get(sessionKeyName(key));
      if (known) return known;
      const head = sessions.head(key);
      return head && keep(head);
    },
    write: (head) => {
      const before = heads.get(sessionKeyName(head));
      keep(before ? sessions.update(head, before) : sessions.insert(head));
    },
    forget: () => {
      heads.clear();
      sessions.forgetLineages();
    },
  };
};
