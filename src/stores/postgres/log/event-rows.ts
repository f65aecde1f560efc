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
}

export const eventColumns =
  'session, seq, at, turn, opens_turn, run, type, version, actor, salt, encoding, payload, hash';
