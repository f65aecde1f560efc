import { createHash, type Hash } from 'node:crypto';
import { bundleInvalid } from './bundle-format.ts';
import { ZstdFrame } from './zstd-frame.ts';

/**
 * The start of the seal. A seal is a skippable frame (RFC 8878), which other programs ignore. It holds the SHA-256 of
 * all bytes before it.
 */
const sealStart = Buffer.from('502a4d1820000000', 'hex');
const sealBytes = sealStart.length + 32;

const sealOf = (digest: Hash): Buffer => Buffer.concat([sealStart, digest.digest()]);

/**
 * Appends the seal. A checksum of the text is not enough, because some bits of the compressed bytes do not affect the
 * text.
 */
export async function* sealed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const digest = createHash('sha256');
  for await (const chunk of source) {
    digest.update(chunk);
    yield chunk;
  }
  yield sealOf(digest);
}

/** Yields the bytes before the seal. Throws at the end if the seal does not match. */
export async function* unsealed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const digest = createHash('sha256');
  const frame = new ZstdFrame();
  let heldBack = Buffer.alloc(0);
  for await (const chunk of source) {
    const known = Buffer.concat([heldBack, chunk]);
    const bytes = known.subarray(0, Math.max(0, known.length - sealBytes));
    heldBack = known.subarray(bytes.length);
    if (!frame.take(bytes)) throw bundleInvalid('it has data after its end');
    digest.update(bytes);
    yield bytes;
  }
  if (heldBack.equals(sealOf(digest))) return;
  const isSealed = heldBack.subarray(0, sealStart.length).equals(sealStart);
  throw bundleInvalid(
    isSealed ? 'it is damaged' : 'it has no seal: it was cut off, compressed again or written by an older release',
  );
}
