import { createHash, hash } from 'node:crypto';
import type { EventHeader } from '../../../schema/event.ts';
import type { StoredBody, StoredEvent } from '../../ports/store.ts';

/** The previous hash of the first event in a root session. */
export const genesisHash: Uint8Array = new Uint8Array(32);
export const saltBytes = 16;

/**
 * The header as it is hashed: one line per field in a fixed order. An absent run is an empty line. No field can
 * contain a line break, so two different headers never have the same bytes. The workspace is left out, so that a log
 * keeps its hashes when it moves to another workspace.
 */
export const headerText = (header: EventHeader): string =>
  `perdure.event.1\n${header.session}\n${header.seq}\n${header.at}\n${header.turn}\n${header.run ?? ''}\n${header.type}\n${header.version}\n${header.actor}\n`;

/** A scratch buffer, because one `hash` call on joined bytes is faster than a hash object that is fed in parts. */
const joined = Buffer.allocUnsafeSlow(32 * 1024);

export const payloadDigest = (salt: Uint8Array, payload: Uint8Array): Buffer => {
  const length = salt.length + payload.length;
  if (length > joined.length) return createHash('sha256').update(salt).update(payload).digest();
  joined.set(salt);
  joined.set(payload, salt.length);
  return hash('sha256', joined.subarray(0, length), 'buffer');
};

/** SHA-256 of the previous hash, the header, and the digest of salt and payload. */
export const eventHash = (previous: Uint8Array, header: EventHeader, digest: Uint8Array): Buffer =>
  hash('sha256', Buffer.concat([previous, Buffer.from(headerText(header)), digest]), 'buffer');

const claimChars = 32;

/**
 * Identifies an append that raises the epoch, by a part of the hash of its first event. The salt in that hash is
 * random, so no other claim has it, even if the store lost commits and assigns the same epoch again.
 */
export const claimOf = (hexHash: string): string => hexHash.slice(0, claimChars);

export const blobHash = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');

const digestOf = (body: StoredBody): Uint8Array | undefined => {
  if (body.kind === 'bytes') return payloadDigest(body.salt, body.bytes);
  return body.kind === 'redacted' ? body.digest : undefined;
};

/** Returns why the event cannot follow the previous one. Returns undefined if the link is valid. */
export const linkProblem = (previous: { seq: number; hash: Uint8Array }, event: StoredEvent): string | undefined => {
  if (event.seq !== previous.seq + 1) return `event ${previous.seq + 1} is missing`;
  if (event.body.kind === 'damaged') return event.body.reason;
  const digest = digestOf(event.body);
  if (!digest || !eventHash(previous.hash, event, digest).equals(event.hash)) {
    return 'the stored bytes do not match the hash';
  }
  return undefined;
};
