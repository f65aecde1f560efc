import { randomFillSync } from 'node:crypto';
import { payloadDigest, saltBytes } from '../../core/session/events/chain.ts';
import { sha256 } from './sha256.ts';

/** The part of an event's hash that does not depend on its position in the log. */
export interface Seal {
  readonly salt: Uint8Array;
  readonly digest: Uint8Array;
}

const pool = new Uint8Array(4096);
let poolUsed = pool.length;

const newSalt = (): Uint8Array => {
  if (poolUsed === pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  poolUsed += saltBytes;
  return pool.slice(poolUsed - saltBytes, poolUsed);
};

export const sealPayload = (payload: Uint8Array): Seal => {
  const salt = newSalt();
  return { salt, digest: payloadDigest(salt, payload) };
};

/** Hashes in the thread pool: for large payloads on the event loop. */
export const sealPayloadInPool = async (payload: Uint8Array): Promise<Seal> => {
  const salt = newSalt();
  return { salt, digest: await sha256(salt, payload) };
};
