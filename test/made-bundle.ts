import { createHash } from 'node:crypto';
import { eventHash, genesisHash, payloadDigest } from '../src/core/session/chain.ts';
import { type Actor, newId, type SessionId } from '../src/schema/ids.ts';

export interface MadeEvent {
  readonly type: string;
  /** A text stands as it is. */
  readonly payload: unknown;
  readonly turn?: number;
  readonly opensTurn?: boolean;
  readonly version?: number;
  readonly at?: number;
}

export const sealedLines = (lines: readonly string[]): Buffer => {
  const body = lines.map((line) => `${line}\n`).join('');
  const end = { lines: lines.length, sha256: createHash('sha256').update(body).digest('hex') };
  return Buffer.from(`${body}${JSON.stringify({ end })}\n`);
};

/** A bundle whose chain and checksum hold, of one session with whatever events: anyone who knows the format can make one. */
export const madeBundle = (events: readonly MadeEvent[]): { session: SessionId; bytes: Buffer } => {
  const session = newId('ses');
  const salt = Buffer.alloc(16, 7);
  let hash: Uint8Array = genesisHash;
  const lines = events.map(({ type, payload, turn = 0, opensTurn = false, version = 1, at = 1000 }, index) => {
    const header = { session, seq: index + 1, at, turn, type, version, actor: 'member:eve' as Actor };
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
    hash = eventHash(hash, header, payloadDigest(salt, Buffer.from(text)));
    const body = { salt: salt.toString('hex'), payload: text };
    return JSON.stringify({ event: { ...header, opensTurn, body, hash: Buffer.from(hash).toString('hex') } });
  });
  const named = { session, seq: events.length, hash: Buffer.from(hash).toString('hex') };
  return {
    session,
    bytes: sealedLines([JSON.stringify({ bundle: 'perdure', version: 1, sessions: [named] }), ...lines]),
  };
};
