import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { BoundedMap } from '../../../concurrency/bounded-map.ts';

const senderBytes = 16;
const countBytes = 6;
const headBytes = senderBytes + countBytes;
const tagBytes = 16;
const nonceBytes = 12;
const cipherName = 'aes-256-gcm';
/** Whose newest count is remembered. */
const maxSenders = 1000;

/** From which every sender's is made. Who may read the tables of the store may read it. Without one nothing of others opens. */
export const readNoteKey = async (client: pg.Client): Promise<Uint8Array> => {
  // As text: outside a transaction of ours nobody knows how bytes are given.
  const { rows } = await client.query<{ key: string }>(`select encode(key, 'hex') as key from perdure.note_key`);
  return rows[0] ? Buffer.from(rows[0].key, 'hex') : randomBytes(32);
};

const nonceOf = (count: number): Buffer => {
  const nonce = Buffer.alloc(nonceBytes);
  nonce.writeUIntBE(count, nonceBytes - countBytes, countBytes);
  return nonce;
};

/**
 * Notifications are heard and sent by every role that may connect, so notes are sealed: sender ‖ count ‖ AES-256-GCM, as base64. Each sender has a
 * key of its own, made of the database's and its random name, and counts its notes: no nonce comes twice under a key.
 */
export class NoteSeal {
  readonly #key: Uint8Array;
  /** Our own come back to us too. */
  readonly #sender = randomBytes(senderBytes);
  readonly #ownKey: Uint8Array;
  readonly #newest = new BoundedMap<string, number>(maxSenders);
  #count = 0;

  constructor(key: Uint8Array) {
    this.#key = key;
    this.#ownKey = this.#keyOf(this.#sender);
  }

  seal(text: string): string {
    const nonce = nonceOf(++this.#count);
    const cipher = createCipheriv(cipherName, this.#ownKey, nonce);
    const sealed = [cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat([this.#sender, nonce.subarray(-countBytes), ...sealed]).toString('base64');
  }

  /** undefined for what is our own, was not sealed by a process on this database, or was heard before. */
  open(payload: string): string | undefined {
    const bytes = Buffer.from(payload, 'base64');
    if (bytes.length < headBytes + tagBytes) return undefined;
    const sender = bytes.subarray(0, senderBytes);
    const name = sender.toString('hex');
    const count = bytes.readUIntBE(senderBytes, countBytes);
    if (sender.equals(this.#sender) || count <= (this.#newest.get(name) ?? 0)) return undefined;
    const text = this.#decipher(sender, count, bytes.subarray(headBytes));
    if (text !== undefined) this.#newest.set(name, count);
    return text;
  }

  #decipher(sender: Uint8Array, count: number, sealed: Buffer): string | undefined {
    const options = { authTagLength: tagBytes };
    const decipher = createDecipheriv(cipherName, this.#keyOf(sender), nonceOf(count), options);
    try {
      decipher.setAuthTag(sealed.subarray(-tagBytes));
      return Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]).toString();
    } catch {
      return undefined;
    }
  }

  #keyOf(sender: Uint8Array): Uint8Array {
    return new Uint8Array(hkdfSync('sha256', this.#key, sender, 'perdure notes', 32));
  }
}
