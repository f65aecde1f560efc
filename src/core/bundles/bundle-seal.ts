import { createHash, type Hash } from 'node:crypto';
import { bundleInvalid } from './bundle-format.ts';
import { ZstdFrame } from './zstd-frame.ts';

/** A skippable frame (RFC 8878), so that other programs pass over it: what it holds is the SHA-256 of all bytes before it. */
const sealStart = Buffer.from('502a4d1820000000', 'hex');
const sealBytes = sealStart.length + 32;

const sealOf = (digest: Hash): Buffer => Buffer.concat([sealStart, digest.digest()]);

/** Not every bit of a compressed text changes the text: what the file is, only a sum of its own bytes tells. */
export async function* sealed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const digest = createHash('sha256');
  for await (const chunk of source) {
    digest.update(chunk);
    yield chunk;
  }
  yield sealOf(digest);
}

/** What was sealed, and nothing else. A seal that does not fit throws at the end. */
export async function* unsealed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const digest = createHash('sha256');
  const frame = new ZstdFrame();
  let heldBack = Buffer.alloc(0);
  for await (const chunk of source) {
    const known = Buffer.concat([heldBack, chunk]);
    const bytes = known.subarray(0, Math.max(0, known.length - sealBytes));
    heldBack = known.subarray(bytes.length);
    if (!frame.take(bytes)) throw bundleInvalid('something follows its end');
    digest.update(bytes);
    yield bytes;
  }
  if (heldBack.equals(sealOf(digest))) return;
  const isSealed = heldBack.subarray(0, sealStart.length).equals(sealStart);
  throw bundleInvalid(
    isSealed ? 'it is damaged' : 'it has no seal: it was cut off, compressed anew or written by an older release',
  );
}
