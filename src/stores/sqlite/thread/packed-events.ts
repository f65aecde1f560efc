import type { StoredBody, StoredEvent } from '../../../core/ports/store.ts';
import { PackedBytes } from './packed-bytes.ts';

const sizeOf = (body: StoredBody): number => {
  if (body.kind === 'bytes') return body.salt.length + body.bytes.length;
  return body.kind === 'redacted' ? body.digest.length : 0;
};

const packBody = (packed: PackedBytes, body: StoredBody): StoredBody => {
  if (body.kind === 'bytes') return { kind: 'bytes', salt: packed.add(body.salt), bytes: packed.add(body.bytes) };
  return body.kind === 'redacted' ? { kind: 'redacted', digest: packed.add(body.digest) } : body;
};

/** The same events with all their bytes in one buffer that can be transferred to another thread. */
export const packEvents = (
  events: readonly StoredEvent[],
): { readonly events: readonly StoredEvent[]; readonly transfer: ArrayBuffer } => {
  const packed = new PackedBytes(events.reduce((sum, { body, hash }) => sum + sizeOf(body) + hash.length, 0));
  return {
    events: events.map((event) => ({ ...event, hash: packed.add(event.hash), body: packBody(packed, event.body) })),
    transfer: packed.buffer,
  };
};
