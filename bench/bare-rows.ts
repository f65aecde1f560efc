import { randomBytes } from 'node:crypto';
import { eventHash, genesisHash } from '../src/core/session/events/chain.ts';
import { encodeValid } from '../src/core/session/events/event-codec.ts';
import type { MessageInput } from '../src/index.ts';
import { type Actor, newId, type SessionId } from '../src/schema/ids.ts';
import { Message } from '../src/schema/message.ts';
import { parseInput } from '../src/schema/parse-input.ts';
import { encodePayload, encodeUncompressed } from '../src/stores/codec/payload-codec.ts';
import { sealPayload } from '../src/stores/codec/seal-payload.ts';
import type { BareRow } from './engines/engine.ts';

const messageOf = ({ role, content }: MessageInput, id: string) => ({
  id,
  role,
  content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
});

/** The bytes that our store would keep for the message, before compression. */
const payloadOf = (message: MessageInput): Uint8Array =>
  Buffer.from(JSON.stringify({ message: messageOf(message, `msg_${'0'.repeat(26)}`) }));

/** Maximum number of bytes of one transaction that are compressed, as in our stores. */
const maxCompressBytes = 64 * 1024;

/** Prepares rows of one or several sessions. */
export class BareRows {
  readonly #seqs = new Map<string, number>();
  #hash = genesisHash;

  /** Prepares a complete row, so that only the insert is timed. */
  rowOf(session: string, message: MessageInput): BareRow {
    const opensTurn = message.role === 'user';
    const payload = payloadOf(message);
    return { session, seq: this.#next(session), opensTurn, salt: randomBytes(16), hash: randomBytes(32), payload };
  }

  /** Validates, encodes, hashes and compresses, as our stores must for every row. */
  makeAll(group: readonly { readonly session: string; readonly message: MessageInput }[]): readonly BareRow[] {
    let bytes = 0;
    return group.map(({ session, message: input }) => {
      const message = parseInput('the message', Message, messageOf(input, newId('msg')));
      const payload = encodeValid('message.appended', { message });
      bytes += payload.length;
      const { salt, digest } = sealPayload(payload);
      const seq = this.#next(session);
      const place = { session: session as SessionId, seq, at: Date.now(), turn: seq };
      const header = { ...place, type: 'message.appended', version: 1, actor: 'member:local' as Actor };
      this.#hash = eventHash(this.#hash, header, digest);
      const { stored } = bytes > maxCompressBytes ? encodeUncompressed(payload) : encodePayload(payload);
      return { session, seq, opensTurn: message.role === 'user', salt, hash: this.#hash, payload: stored };
    });
  }

  #next(session: string): number {
    const seq = (this.#seqs.get(session) ?? 0) + 1;
    this.#seqs.set(session, seq);
    return seq;
  }
}
