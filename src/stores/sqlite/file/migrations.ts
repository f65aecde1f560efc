import type { DatabaseSync } from 'node:sqlite';
import { isBlobEvent } from '../../log/blob-event-condition.ts';
import { endingChars } from '../../log/list-walks.ts';
import { metaAdvice, parseMeta } from '../../log/stored-meta.ts';
import { isNewerRelease } from '../../release.ts';
import { releaseTooOld } from './admission.ts';
import { inTransaction } from './in-transaction.ts';
import { storeFailure } from './store-error.ts';

/** 'Prdr': distinguishes our files from those of other applications. */
export const applicationId = 0x50726472;

interface Migration {
  /** The oldest release that can use the database after this migration. */
  readonly oldestReader: string;
  readonly sql: string;
  /** Whether the rows of the projection tables must be made from the logs after this migration. */
  readonly rebuilds?: true;
}

/** The condition for calls whose effects going back does not undo, as far as the log says. */
export const isLasting = "confined IS NULL AND effects IS NOT 'none'";

/**
 * Tables that can be rebuilt from the log, even after they were dropped. The last migration that rebuilds them makes
 * them anew, so a change here needs such a migration once a release has made them.
 */
export const projectionTables = `
CREATE TABLE IF NOT EXISTS commit_paths (
  workspace TEXT NOT NULL, session TEXT NOT NULL, seq INTEGER NOT NULL, path TEXT NOT NULL,
  turn INTEGER NOT NULL, at INTEGER NOT NULL, actor TEXT NOT NULL, tool TEXT, provenance TEXT,
  PRIMARY KEY (workspace, session, seq, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS commit_paths_by_path ON commit_paths (workspace, path, at, session, seq);
CREATE INDEX IF NOT EXISTS commit_paths_by_time
  ON commit_paths (workspace, at, session, seq, path, tool, actor, provenance);

CREATE TABLE IF NOT EXISTS tool_calls (
  workspace TEXT NOT NULL, session TEXT NOT NULL, seq INTEGER NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL,
  status TEXT NOT NULL, run TEXT, turn INTEGER NOT NULL, at INTEGER NOT NULL, actor TEXT NOT NULL, ended_seq INTEGER,
  duration_ms REAL, input_hash TEXT NOT NULL, output_hash TEXT, source TEXT,
  root TEXT NOT NULL, effects TEXT, confined INTEGER,
  PRIMARY KEY (workspace, session, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tool_calls_by_input ON tool_calls (workspace, root, tool, input_hash, at) WHERE ${isLasting};
CREATE INDEX IF NOT EXISTS tool_calls_open ON tool_calls (workspace, session, call_id, seq) WHERE ended_seq IS NULL;
CREATE INDEX IF NOT EXISTS tool_calls_by_tool ON tool_calls (workspace, tool, at, session, seq);
CREATE INDEX IF NOT EXISTS tool_calls_by_actor ON tool_calls (workspace, actor, at, session, seq);
CREATE INDEX IF NOT EXISTS tool_calls_by_time ON tool_calls (workspace, at, session, seq);

CREATE TABLE IF NOT EXISTS charges (
  workspace TEXT NOT NULL, session TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, run TEXT, agent TEXT,
  model TEXT, member TEXT, child TEXT, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL, usd REAL, is_rest INTEGER,
  PRIMARY KEY (workspace, session, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS charges_by_time ON charges (workspace, at);

CREATE TABLE IF NOT EXISTS session_values (
  workspace TEXT NOT NULL, session TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  level INTEGER NOT NULL, span INTEGER NOT NULL,
  PRIMARY KEY (workspace, session, name, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS session_values_by_value ON session_values (workspace, name, value, level, span, session);
`;

export const projectionNames: readonly string[] = [
  ...projectionTables.matchAll(/CREATE TABLE IF NOT EXISTS (\w+)/g),
].map(([, name]) => name!);

/** Rows that quotas are checked against. They can be recounted from the log. */
export const ledgerTable = `
CREATE TABLE IF NOT EXISTS ledger (
  workspace TEXT NOT NULL, member TEXT NOT NULL, meter TEXT NOT NULL, period TEXT NOT NULL,
  used INTEGER NOT NULL, reserved INTEGER NOT NULL,
  PRIMARY KEY (workspace, member, meter, period)
) STRICT, WITHOUT ROWID;
`;

/** A cache of folds, which can be recreated empty. */
export const snapshotTable = `
CREATE TABLE IF NOT EXISTS snapshots (
  workspace TEXT NOT NULL, session TEXT NOT NULL, fold_version INTEGER NOT NULL, seq INTEGER NOT NULL,
  manifest TEXT NOT NULL,
  PRIMARY KEY (workspace, session, fold_version, seq)
) STRICT, WITHOUT ROWID;
`;

/** The last characters of an id in reverse order, because the engine has no function that reverses a text. */
export const idEnding = Array.from({ length: endingChars }, (_, place) => `substr(id, -${place + 1}, 1)`).join(' || ');

/** Indexes hold nothing that the tables do not, so they can be recreated. */
export const logIndexes = `
CREATE INDEX IF NOT EXISTS sessions_by_ending ON sessions (workspace, ${idEnding});
CREATE INDEX IF NOT EXISTS sessions_by_root ON sessions (workspace, root) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS events_by_seq ON events (workspace, session, seq);
CREATE INDEX IF NOT EXISTS events_by_turn ON events (workspace, session, turn, seq) WHERE opens_turn = 1;
CREATE INDEX IF NOT EXISTS events_by_blob ON events (workspace, payload) WHERE encoding = 2;
CREATE INDEX IF NOT EXISTS events_naming_blobs ON events (workspace, session, seq) WHERE ${isBlobEvent};
CREATE UNIQUE INDEX IF NOT EXISTS blobs_by_hash ON blobs (workspace, hash);
`;

/** The blobs that count for quotas. Holds size and member, because `counted` follows the content in a row. */
export const countedBlobsIndex = `
CREATE INDEX IF NOT EXISTS blobs_counted ON blobs (workspace, hash, size, member) WHERE counted = 1;
`;

/** The migration to schema n is at index n - 1. A released migration must not change; append a new one instead. */
export const migrations: readonly Migration[] = [
  {
    oldestReader: '0.0.1',
    sql: `
CREATE TABLE meta (schema INTEGER NOT NULL, oldest_reader TEXT NOT NULL) STRICT;
INSERT INTO meta VALUES (0, '0.0.0');

CREATE TABLE sessions (
  workspace TEXT NOT NULL, id TEXT NOT NULL, parent TEXT, forked_at INTEGER, root TEXT NOT NULL,
  seq INTEGER NOT NULL, hash BLOB NOT NULL, at INTEGER NOT NULL, epoch INTEGER NOT NULL,
  status TEXT NOT NULL, updated_at INTEGER NOT NULL, updated_span INTEGER NOT NULL, summary TEXT NOT NULL,
  imported_to INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  workspace TEXT NOT NULL, session TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
  turn INTEGER NOT NULL, opens_turn INTEGER NOT NULL, run TEXT, type TEXT NOT NULL, version INTEGER NOT NULL,
  actor TEXT NOT NULL, salt BLOB, hash BLOB NOT NULL, encoding INTEGER NOT NULL, payload BLOB NOT NULL
) STRICT;

CREATE TABLE keys (
  workspace TEXT NOT NULL, session TEXT NOT NULL, key TEXT NOT NULL, body_hash TEXT NOT NULL,
  seq INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (workspace, session, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
  id INTEGER PRIMARY KEY,
  workspace TEXT NOT NULL, hash BLOB NOT NULL, put_at INTEGER NOT NULL, size INTEGER NOT NULL, encoding INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;

${snapshotTable}

${logIndexes}

CREATE TABLE work (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace TEXT NOT NULL, session TEXT NOT NULL, seq INTEGER NOT NULL, done INTEGER NOT NULL,
  agent TEXT NOT NULL, priority INTEGER NOT NULL, visible_at INTEGER, ready INTEGER NOT NULL, lacks_agent INTEGER NOT NULL,
  place TEXT, worker TEXT, machine TEXT, process INTEGER, process_start TEXT,
  UNIQUE (workspace, session)
) STRICT;
CREATE INDEX work_ready ON work (agent, workspace, priority DESC, visible_at) WHERE ready = 1;
CREATE INDEX work_stranded ON work (agent, visible_at) WHERE ready = 1 AND lacks_agent = 0;
CREATE INDEX work_waiting ON work (visible_at) WHERE ready = 0 AND visible_at IS NOT NULL;
CREATE INDEX work_held ON work (workspace, agent, visible_at) WHERE worker IS NOT NULL;
CREATE INDEX work_by_worker ON work (worker, machine) WHERE worker IS NOT NULL;

CREATE TABLE workers (
  worker TEXT PRIMARY KEY, machine TEXT NOT NULL, process INTEGER NOT NULL, process_start TEXT NOT NULL,
  place TEXT NOT NULL, workspace TEXT, agents TEXT NOT NULL, concurrency INTEGER NOT NULL, draining INTEGER NOT NULL,
  started_at INTEGER NOT NULL, seen_at INTEGER NOT NULL, lost_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
  },
  {
    oldestReader: '0.0.1',
    sql: `
CREATE TABLE records (
  version INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, due_at INTEGER, body TEXT NOT NULL,
  UNIQUE (workspace, kind, id)
) STRICT;
CREATE INDEX records_due ON records (workspace, kind, due_at, id) WHERE due_at IS NOT NULL;
`,
  },
  {
    oldestReader: '0.1.0',
    sql: `
${projectionNames.map((name) => `DROP TABLE IF EXISTS ${name};`).join('\n')}
${projectionTables}
`,
    rebuilds: true,
  },
  {
    oldestReader: '0.1.0',
    sql: "ALTER TABLE sessions ADD COLUMN claim TEXT NOT NULL DEFAULT '';",
  },
  // The rebuild also makes the account of each session.
  { oldestReader: '0.1.0', sql: ledgerTable, rebuilds: true },
  {
    oldestReader: '0.1.0',
    sql: 'ALTER TABLE sessions ADD COLUMN imported_from INTEGER NOT NULL DEFAULT 0;',
  },
  {
    oldestReader: '0.1.0',
    sql: `
DROP INDEX IF EXISTS sessions_by_change;
ALTER TABLE sessions DROP COLUMN updated_span;
${projectionTables}
${logIndexes}
`,
    rebuilds: true,
  },
  // Large payloads count with their logs, and parts of fold snapshots not at all.
  {
    oldestReader: '0.1.0',
    sql: `
ALTER TABLE blobs ADD COLUMN counted INTEGER NOT NULL DEFAULT 1;
UPDATE blobs SET counted = 0 WHERE
  EXISTS (SELECT 1 FROM events e WHERE e.workspace = blobs.workspace AND e.encoding = 2 AND e.payload = blobs.hash)
  OR (workspace, lower(hex(hash))) IN (
    SELECT s.workspace, part.value ->> 'blob' FROM snapshots s, json_each(iif(json_valid(s.manifest), s.manifest, '{}')) part
    WHERE part.type = 'object' AND part.value ->> 'blob' IS NOT NULL);
CREATE INDEX blobs_counted ON blobs (workspace, hash, size) WHERE counted = 1;
`,
  },
  // Rows of bookkeeping have no provenance.
  { oldestReader: '0.1.0', sql: `DROP TABLE IF EXISTS commit_paths; ${projectionTables}`, rebuilds: true },
  // Blobs stored before count for no member.
  {
    oldestReader: '0.1.0',
    sql: `
ALTER TABLE blobs ADD COLUMN member TEXT NOT NULL DEFAULT '';
DROP INDEX IF EXISTS blobs_counted;
${countedBlobsIndex}
`,
  },
];

/** A single statement, because another process may fill the file between two statements. */
const ownership = `SELECT application_id AS owner, EXISTS (SELECT 1 FROM sqlite_schema) AS used FROM pragma_application_id`;

/** Whether the schema exists in the file. Rejects a foreign file before anything in it changes. */
export const isBegun = (db: DatabaseSync, file: string): boolean => {
  const { owner, used } = db.prepare(ownership).get() as { owner: number; used: number };
  if (owner === applicationId) return true;
  if (owner === 0 && used === 0) return false;
  const advice = 'give perdure a file of its own';
  throw storeFailure('STORE_CORRUPT', file, 'the database belongs to another application', { advice });
};

/** The number of the last migration; 0 for an empty file. */
const schemaOf = (db: DatabaseSync, file: string, release: string): number => {
  if (!isBegun(db, file)) return 0;
  const meta = parseMeta(db.prepare('SELECT schema, oldest_reader FROM meta').get());
  if (!meta) throw storeFailure('STORE_CORRUPT', file, 'its meta table is missing or corrupt', { advice: metaAdvice });
  const { schema, oldest_reader: needs } = meta;
  if (!isNewerRelease(needs, release)) return schema;
  throw releaseTooOld(file, needs, release);
};

/** Whether the database needs no migration for this release. */
export const isCurrent = (db: DatabaseSync, file: string, release: string): boolean =>
  schemaOf(db, file, release) >= migrations.length;

/**
 * Migrates a database to the newest schema, in one transaction. Several processes may do so at the same time. A newer
 * schema that still allows this release is left alone. `rebuild` fills empty projection tables.
 */
export const migrate = (db: DatabaseSync, file: string, release: string, rebuild: () => void): void => {
  if (isCurrent(db, file, release)) return;
  inTransaction(db, () => {
    const pending = migrations.slice(schemaOf(db, file, release));
    for (const { sql, oldestReader } of pending) {
      db.exec(sql);
      db.prepare('UPDATE meta SET schema = schema + 1, oldest_reader = ?').run(oldestReader);
    }
    if (pending.some(({ rebuilds }) => rebuilds)) rebuild();
    db.exec(`PRAGMA application_id = ${applicationId}`);
  });
};
