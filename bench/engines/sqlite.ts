import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { BareLoop, BareRow, Engine, Place } from './engine.ts';

const ourSchema = (file: string): string => {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare("SELECT sql FROM sqlite_schema WHERE tbl_name = 'events' AND sql IS NOT NULL").all();
  db.close();
  return rows.map(({ sql }) => `${sql};`).join('\n');
};

const openBare = async (ours: string, file: string): Promise<BareLoop> => {
  const db = new DatabaseSync(file);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  db.exec(ourSchema(ours));
  const insert = db.prepare(`INSERT INTO events
    (workspace, session, seq, at, turn, opens_turn, run, type, version, actor, salt, hash, encoding, payload)
    VALUES ('local', ?, ?, ?, ?, ?, NULL, 'message.appended', 1, 'member:local', ?, ?, 0, ?)`);
  return {
    insert: (rows: readonly BareRow[]) => {
      const now = Date.now();
      db.exec('BEGIN IMMEDIATE');
      for (const { session, seq, opensTurn, salt, hash, payload } of rows) {
        insert.run(session, seq, now, seq, opensTurn ? 1 : 0, salt, hash, payload);
      }
      db.exec('COMMIT');
    },
    close: async () => db.close(),
  };
};

export const sqliteEngine = async (): Promise<Engine> => ({
  name: 'sqlite',
  newPlace: async (): Promise<Place> => {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
    const file = join(folder, 'perdure.db');
    return {
      address: `sqlite:${file}`,
      bytes: async () => {
        const db = new DatabaseSync(file);
        db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
        db.close();
        return (await stat(file)).size;
      },
      openBare: () => openBare(file, join(folder, 'bare.db')),
      remove: () => rm(folder, { recursive: true }),
    };
  },
  close: async () => undefined,
});
