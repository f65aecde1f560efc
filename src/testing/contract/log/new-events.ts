import { createHash } from 'node:crypto';
import type { IdempotencyKey, NewEvent, SessionKey } from '../../../core/ports/store.ts';
import { encodeEvent } from '../../../core/session/events/event-codec.ts';
import type { EventType, PayloadOf } from '../../../schema/event.ts';
import { newId, systemActor } from '../../../schema/ids.ts';

type Turn = NewEvent['turn'];

export const event = <T extends EventType>(type: T, payload: PayloadOf<T>, turn: Turn = 'current'): NewEvent =>
  encodeEvent({ type, payload, actor: systemActor, turn } as Parameters<typeof encodeEvent>[0]);

export const opened = (about: PayloadOf<'session.opened'> = {}): NewEvent => event('session.opened', about);

export const message = (text: string, turn: Turn = 'current'): NewEvent =>
  event('message.appended', { message: { id: newId('msg'), role: 'user', content: [{ type: 'text', text }] } }, turn);

export const forked = (parent: SessionKey, at: number, about: Partial<PayloadOf<'session.forked'>> = {}): NewEvent =>
  event('session.forked', { parent: parent.session, at, midTurn: false, lastTurn: 0, messages: 0, ...about });

/** An event of an unknown type, for rules that concern only bytes. */
export const raw = (payload: Uint8Array, turn: Turn = 'current'): NewEvent => ({
  type: 'custom.noted',
  version: 1,
  turn,
  actor: systemActor,
  payload,
});

export const rawText = (text: string, turn: Turn = 'current'): NewEvent => raw(new TextEncoder().encode(text), turn);

export const idempotencyKey = (key: string, body: string): IdempotencyKey => ({
  key,
  bodyHash: createHash('sha256').update(body).digest('hex'),
});

/** Deterministic bytes for a seed that do not compress. */
export const noise = (size: number, seed: number): Uint8Array => {
  const bytes = new Uint8Array(size);
  let state = Math.imul(seed + 1, 2654435761) | 1;
  for (let i = 0; i < size; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[i] = state;
  }
  return bytes;
};
