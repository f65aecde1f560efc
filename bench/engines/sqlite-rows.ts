import { DatabaseSync } from 'node:sqlite';
import { checkpointPages, layout } from '../../src/stores/sqlite/file/connection.ts';
import type { BareRow } from './engine.ts';

export interface OpenRows {
  insert(rows: readonly BareRow[]): void;
  close(): void;
}

export const openRows = (file: string, schema: string): OpenRows => {
  const db = new DatabaseSync(file);
  db.exec(layout);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${checkpointPages};`);
  db.exec(schema);
  const insert = db.prepare(`INSERT INTO events
    (workspace, session, seq, at, turn, opens_turn, run, type, version, actor, salt, hash, encoding, payload)
    VALUES ('local', ?, ?, ?, ?, ?, NULL, 'message.appended', 1, 'member:local', ?, ?, 0, ?)`);
  return {
    insert: (rows) => {
      const now = Date.now();
      db.exec('BEGIN IMMEDIATE');
      for (const { session, seq, opensTurn, salt, hash, payload } of rows) {
        insert.run(session, seq, now, seq, opensTurn ? 1 : 0, salt, hash, payload);
      }
      db.exec('COMMIT');
    },
    close: () => db.close(),
  };
};
