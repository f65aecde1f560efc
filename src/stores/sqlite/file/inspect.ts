import { DatabaseSync } from 'node:sqlite';
import { parseMeta } from '../../log/stored-meta.ts';
import { migrations } from './migrations.ts';
import { FrozenDatabase, isFrozen } from './read-only-mount.ts';

export interface SqliteInspection {
  readonly kind: 'sqlite';
  readonly file: string;
  readonly server: string;
  /** Undefined on a read-only file system, where no journal is used. */
  readonly journalMode: string | undefined;
  readonly schema: number | undefined;
  readonly newestSchema: number;
  /** Why nothing can be written now. */
  readonly writeProblem?: string | undefined;
}

const waitMs = 2000;

/** Takes the lock of a writer and releases it. Writes nothing. */
const writeProblemOf = (file: string): string | undefined => {
  if (isFrozen(file)) return 'its file system is mounted read-only';
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { timeout: waitMs });
    db.exec('BEGIN IMMEDIATE; ROLLBACK');
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    db?.close();
  }
};

/** Looks at a database file without changing it. */
export const inspectSqlite = (file: string): SqliteInspection => {
  const db = isFrozen(file) ? new FrozenDatabase(file) : new DatabaseSync(file, { readOnly: true, timeout: waitMs });
  try {
    const one = (sql: string) => Object.values(db.prepare(sql).get() ?? {})[0];
    const hasMeta = one("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'") === 1;
    return {
      kind: 'sqlite',
      file,
      server: String(one('SELECT sqlite_version()')),
      journalMode: db instanceof FrozenDatabase ? undefined : String(one('PRAGMA journal_mode')),
      schema: hasMeta ? parseMeta(db.prepare('SELECT schema, oldest_reader FROM meta').get())?.schema : undefined,
      newestSchema: migrations.length,
      writeProblem: writeProblemOf(file),
    };
  } finally {
    db.close();
  }
};
