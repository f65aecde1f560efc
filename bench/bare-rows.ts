import { randomBytes } from 'node:crypto';
import type { MessageInput } from '../src/index.ts';
import type { BareRow } from './engines/engine.ts';

/** The bytes that our store would keep for the message, before compression. */
const payloadOf = ({ role, content }: MessageInput): Uint8Array => {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return Buffer.from(JSON.stringify({ message: { id: `msg_${'0'.repeat(26)}`, role, content: parts } }));
};

/** Rows of one or several sessions, everything in them made beforehand. */
export class BareRows {
  readonly #seqs = new Map<string, number>();

  rowOf(session: string, message: MessageInput): BareRow {
    const seq = (this.#seqs.get(session) ?? 0) + 1;
    this.#seqs.set(session, seq);
    return {
      session,
      seq,
      opensTurn: message.role === 'user',
      salt: randomBytes(16),
      hash: randomBytes(32),
      payload: payloadOf(message),
    };
  }
}
