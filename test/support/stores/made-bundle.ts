import { createHash } from 'node:crypto';
import { bundleVersion } from '../../../src/core/bundles/bundle-format.ts';
import { hashOf } from '../../../src/core/files/tree.ts';
import { eventHash, genesisHash, payloadDigest } from '../../../src/core/session/events/chain.ts';
import { type Actor, newId, type SessionId } from '../../../src/schema/ids.ts';

export interface MadeEvent {
  readonly type: string;
  /** A string is used as the payload text unchanged; anything else is encoded as JSON. */
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

interface Link {
  readonly seq: number;
  readonly hash: Uint8Array;
}

interface MadeSession {
  readonly entry: { readonly session: SessionId; readonly seq: number; readonly hash: string };
  readonly lines: readonly string[];
  readonly end: Link;
}

const madeSession = (events: readonly MadeEvent[], start: Link): MadeSession => {
  const session = newId('ses');
  const salt = Buffer.alloc(16, 7);
  let { hash } = start;
  const lines = events.map(({ type, payload, turn = 0, opensTurn = false, version = 1, at = 1000 }, index) => {
    const header = { session, seq: start.seq + index + 1, at, turn, type, version, actor: 'member:eve' as Actor };
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
    hash = eventHash(hash, header, payloadDigest(salt, Buffer.from(text)));
    const body = { salt: salt.toString('hex'), payload: text };
    return JSON.stringify({ event: { ...header, opensTurn, body, hash: Buffer.from(hash).toString('hex') } });
  });
  const seq = start.seq + events.length;
  return { entry: { session, seq, hash: Buffer.from(hash).toString('hex') }, lines, end: { seq, hash } };
};

const bundleOf = (entries: readonly object[], lines: readonly string[]): Buffer =>
  sealedLines([JSON.stringify({ bundle: 'perdure', version: bundleVersion, sessions: entries }), ...lines]);

/** The lines of a blob, which may declare a wrong hash or size. */
export const madeBlob = (
  kind: 'tree' | 'content',
  bytes: Uint8Array,
  { hash = hashOf(bytes), size = bytes.length }: { readonly hash?: string; readonly size?: number } = {},
): readonly string[] =>
  [{ blob: { hash, kind, size } }, { piece: Buffer.from(bytes).toString('base64') }].map((line) =>
    JSON.stringify(line),
  );

/**
 * A bundle of one session with arbitrary events and a valid chain and checksum. Anybody who knows the format can make
 * one.
 */
export const madeBundle = (
  events: readonly MadeEvent[],
  blobs: readonly string[] = [],
): { session: SessionId; bytes: Buffer } => {
  const { entry, lines } = madeSession(events, { seq: 0, hash: genesisHash });
  return { session: entry.session, bytes: bundleOf([entry], [...blobs, ...lines]) };
};

/** A bundle of a session and a fork at its end. */
export const madeFork = (events: readonly MadeEvent[], forked: object, about: Partial<MadeEvent>): Buffer => {
  const parent = madeSession(events, { seq: 0, hash: genesisHash });
  const first = { type: 'session.forked', payload: { parent: parent.entry.session, ...forked }, ...about };
  const child = madeSession([first], parent.end);
  const point = { session: parent.entry.session, seq: parent.end.seq };
  return bundleOf([parent.entry, { ...child.entry, parent: point }], [...parent.lines, ...child.lines]);
};
