import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { BoundedMap } from '../../../concurrency/bounded-map.ts';

const senderBytes = 16;
const countBytes = 6;
const headBytes = senderBytes + countBytes;
const tagBytes = 16;
const nonceBytes = 12;
const cipherName = 'aes-256-gcm';
/** The number of senders whose newest counts are remembered, to reject replays. */
const maxSenders = 1000;

/**
 * Reads the key from which each sender's key is derived. Any role that may read the store's tables may read it.
 * Without a stored key, notes of other processes cannot be opened.
 */
export const readNoteKey = async (client: pg.Client): Promise<Uint8Array> => {
  // Selected as text, because bytea_output is not pinned outside our transactions.
  const { rows } = await client.query<{ key: string }>(`select encode(key, 'hex') as key from perdure.note_key`);
  return rows[0] ? Buffer.from(rows[0].key, 'hex') : randomBytes(32);
};

const nonceOf = (count: number): Buffer => {
  const nonce = Buffer.alloc(nonceBytes);
  nonce.writeUIntBE(count, nonceBytes - countBytes, countBytes);
  return nonce;
};

/**
 * Seals notes, because every role that may connect can send and receive notifications. Format: sender ‖ count ‖
 * AES-256-GCM, in base64. Each sender derives its own key from the database's key and its random name. The sender
 * counts its notes, so no nonce repeats under a key.
 */
export class NoteSeal {
  readonly #key: Uint8Array;
  /** Identifies our own notes, because the server sends them back to us too. */
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

  /**
   * Opens a sealed note. Returns undefined for our own notes, for replays, and for anything that no process on this
   * database sealed.
   */
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
