import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { SessionKey } from '../../core/ports/store.ts';
import { payloadDigest } from '../../core/session/events/chain.ts';
import { describeStoreContract } from '../../testing/index.ts';
import { decodePayload, payloadEncoding } from '../codec/payload-codec.ts';
import { openSqliteStore } from './index.ts';
import { openBlobs } from './log/blobs.ts';

const folder = mkdtempSync(join(tmpdir(), 'perdure-sqlite-'));
const file = join(folder, 'perdure.db');

interface Row {
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
  readonly encoding: number;
  readonly payload: Uint8Array;
}

const withDatabase = <T>(work: (db: DatabaseSync) => T): T => {
  const db = new DatabaseSync(file, { timeout: 10_000 });
  try {
    return work(db);
  } finally {
    db.close();
  }
};

const where = 'WHERE workspace = ? AND session = ? AND seq = ?';
const changeOne = (sql: string, ...values: SQLInputValue[]) =>
  withDatabase((db) => {
    if (db.prepare(sql).run(...values).changes !== 1) throw new Error(`expected to change one row: ${sql}`);
  });
const set = async ({ workspace, session }: SessionKey, seq: number, column: string, value: SQLInputValue) =>
  changeOne(`UPDATE events SET ${column} = ? ${where}`, value, workspace, session, seq);
const rowOf = ({ workspace, session }: SessionKey, seq: number): Row =>
  withDatabase((db) => db.prepare(`SELECT * FROM events ${where}`).get(workspace, session, seq) as unknown as Row);

/** Flips a bit of the last byte, because a compressed payload starts with its size. */
const flipped = (bytes: Uint8Array): Uint8Array =>
  bytes.map((byte, index) => (index === bytes.length - 1 ? byte ^ 1 : byte));

describeStoreContract('SQLite', {
  open: () => openSqliteStore({ file }),
  destroy: async () => rmSync(folder, { recursive: true, force: true }),
  losesNotes: true,
  tamper: {
    changePayload: async (key, seq) => {
      const { encoding, payload } = rowOf(key, seq);
      if (encoding !== payloadEncoding.blob) return set(key, seq, 'payload', flipped(payload));
      const blob = withDatabase((db) =>
        db.prepare('SELECT bytes FROM blobs WHERE workspace = ? AND hash = ?').get(key.workspace, payload),
      ) as { bytes: Uint8Array };
      changeOne(
        'UPDATE blobs SET bytes = ? WHERE workspace = ? AND hash = ?',
        flipped(blob.bytes),
        key.workspace,
        payload,
      );
    },
    changeAt: (key, seq, at) => set(key, seq, 'at', at),
    changeTurn: (key, seq, turn) => set(key, seq, 'turn', turn),
    changeHash: (key, seq) => set(key, seq, 'hash', flipped(rowOf(key, seq).hash)),
    removeEvent: async ({ workspace, session }, seq) =>
      changeOne(`DELETE FROM events ${where}`, workspace, session, seq),
    redact: async (key, seq) => {
      const { encoding, salt, payload } = rowOf(key, seq);
      const blob = withDatabase((db) => openBlobs(db).read(key.workspace, payload));
      const body = decodePayload(encoding, salt, payload, blob);
      if (body.kind !== 'bytes') throw new Error(`nothing to redact in a ${body.kind} payload`);
      await set(key, seq, 'payload', payloadDigest(salt, body.bytes));
      await set(key, seq, 'encoding', payloadEncoding.redacted);
      await set(key, seq, 'salt', null);
    },
    removeBlob: async (workspace, hash) =>
      changeOne('DELETE FROM blobs WHERE workspace = ? AND hash = ?', workspace, hash),
    countPieces: async (workspace) =>
      withDatabase((db) => Number(db.prepare('SELECT count(*) AS n FROM blobs WHERE workspace = ?').get(workspace)?.n)),
    ageBlobs: async (workspace, ms) =>
      withDatabase((db) => {
        db.prepare('UPDATE blobs SET put_at = put_at - ? WHERE workspace = ?').run(ms, workspace);
      }),
    projections: async (workspace) =>
      withDatabase((db) =>
        [
          'SELECT * FROM commit_paths WHERE workspace = ? ORDER BY session, seq, path',
          'SELECT * FROM tool_calls WHERE workspace = ? ORDER BY session, seq',
          'SELECT * FROM charges WHERE workspace = ? ORDER BY session, seq',
          'SELECT session, name, value FROM session_values WHERE workspace = ? ORDER BY session, name, value',
          'SELECT id, status, updated_at, summary FROM sessions WHERE workspace = ? ORDER BY id',
        ].map((sql) => db.prepare(sql).all(workspace)),
      ),
    spoilProjections: async (workspace, summaries) =>
      withDatabase((db) => {
        for (const sql of [
          'DELETE FROM commit_paths WHERE workspace = ?',
          'DELETE FROM tool_calls WHERE workspace = ?',
          'DELETE FROM charges WHERE workspace = ?',
          'DELETE FROM session_values WHERE workspace = ?',
          `UPDATE sessions SET status = 'open', updated_at = 0, summary = ${
            summaries === 'changed' ? "json_set(summary, '$.title', 'spoiled', '$.messages', 99)" : "'spoiled'"
          } WHERE workspace = ?`,
        ]) {
          db.prepare(sql).run(workspace);
        }
      }),
  },
});
