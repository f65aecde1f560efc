import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { SessionKey, StoredEvent } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { type EncodedPayload, payloadEncoding } from '../../codec/payload-codec.ts';

/**
 * The columns in the order of the table. The payload is last, so that reading the other columns follows no overflow
 * pages.
 */
export const eventColumns =
  'session, seq, at, turn, opens_turn, run, type, version, actor, salt, hash, encoding, payload';

/** Whether an event came from a bundle. `key` are the expressions for its workspace and its session. */
export const isImported = (key: { readonly workspace: string; readonly session: string }): string =>
  `(SELECT events.seq BETWEEN imported_from AND imported_to FROM sessions
    WHERE sessions.workspace = ${key.workspace} AND sessions.id = ${key.session})`;

export type EventRow = [
  session: SessionId,
  seq: number,
  at: number,
  turn: number,
  opensTurn: number,
  run: string | null,
  type: string,
  version: number,
  actor: string,
  salt: Uint8Array | null,
  hash: Uint8Array,
  encoding: number,
  payload: Uint8Array,
  imported?: number | null,
];

export interface EventRows {
  insert(workspace: WorkspaceId, event: StoredEvent, payload: EncodedPayload): void;
  /** Hash and time of one of the session's own events. */
  mark(key: SessionKey, seq: number): { readonly hash: Uint8Array; readonly at: number } | undefined;
  markTurn(key: SessionKey, seq: number, opensTurn: boolean): void;
}

/** The payload column of a redacted event: its digest. */
export const redactedPayload = (digest: Uint8Array): EncodedPayload => ({
  encoding: payloadEncoding.redacted,
  stored: digest,
});

export const openEventRows = (db: DatabaseSync): EventRows => {
  const insert = db.prepare(
    `INSERT INTO events (workspace, ${eventColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const select = db.prepare('SELECT hash, at FROM events WHERE workspace = ? AND session = ? AND seq = ?');
  const markTurn = db.prepare('UPDATE events SET opens_turn = ? WHERE workspace = ? AND session = ? AND seq = ?');
  return {
    insert: (workspace, event, { encoding, stored }) => {
      insert.run(
        workspace,
        event.session,
        event.seq,
        event.at,
        event.turn,
        event.opensTurn ? 1 : 0,
        event.run ?? null,
        event.type,
        event.version,
        event.actor,
        event.body.kind === 'bytes' ? event.body.salt : null,
        event.hash,
        encoding,
        stored,
      );
    },
    mark: ({ workspace, session }, seq) =>
      select.get(workspace, session, seq) as
        | (Record<string, SQLOutputValue> & { hash: Uint8Array; at: number })
        | undefined,
    markTurn: ({ workspace, session }, seq, opens) => void markTurn.run(opens ? 1 : 0, workspace, session, seq),
  };
};
