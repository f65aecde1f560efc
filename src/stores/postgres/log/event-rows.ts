import type { Actor, RunId, SessionId } from '../../../schema/ids.ts';

export interface EventRow {
  readonly session: SessionId;
  readonly seq: number;
  readonly at: number;
  readonly turn: number;
  readonly opens_turn: boolean;
  readonly run: RunId | null;
  readonly type: string;
  readonly version: number;
  readonly actor: Actor;
  readonly salt: Uint8Array | null;
  readonly encoding: number;
  readonly payload: Uint8Array;
  readonly hash: Uint8Array;
  /** Only where the query asks for it. */
  readonly imported?: boolean;
}

export const eventColumns =
  'session, seq, at, turn, opens_turn, run, type, version, actor, salt, encoding, payload, hash';

/** Whether an event came from a bundle. `key` are the expressions for its session and its seq; $1 is the workspace. */
export const isImported = (key: { readonly session: string; readonly seq: string }): string =>
  `(select ${key.seq} between imported_from and imported_to from perdure.sessions own
    where own.workspace = $1 and own.id = ${key.session}) as imported`;
