import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createZstdCompress } from 'node:zlib';
import { bundleVersion } from '../../../src/core/bundles/bundle-format.ts';
import { sealed } from '../../../src/core/bundles/bundle-seal.ts';
import { newId } from '../../../src/schema/ids.ts';

export const mebibyte = 1024 * 1024;

interface Bomb {
  readonly contents: number;
  readonly mebibytes: number;
}

const headerLine = JSON.stringify({
  bundle: 'perdure',
  version: bundleVersion,
  sessions: [{ session: newId('ses'), seq: 1, hash: '0'.repeat(64) }],
});

/** Contents full of zeros that differ only in their first byte, each under its correct hash. */
function* bombLines({ contents, mebibytes }: Bomb): Generator<string> {
  yield `${headerLine}\n`;
  const zeros = Buffer.alloc(mebibyte);
  const pieceOf = (bytes: Buffer): string => `${JSON.stringify({ piece: bytes.toString('base64') })}\n`;
  const piece = pieceOf(zeros);
  for (let content = 1; content <= contents; content++) {
    const first = Buffer.concat([Buffer.from([content]), zeros.subarray(1)]);
    const digest = createHash('sha256').update(first);
    for (let at = 1; at < mebibytes; at++) digest.update(zeros);
    yield `${JSON.stringify({ blob: { hash: digest.digest('hex'), kind: 'content', size: mebibytes * mebibyte } })}\n`;
    yield pieceOf(first);
    for (let at = 1; at < mebibytes; at++) yield piece;
  }
}

/**
 * A bundle of a few compressed kilobytes that is valid as far as it is read, but lacks the end that a bundle must
 * have.
 */
export const bundleBomb = async (bomb: Bomb): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(sealed(Readable.from(bombLines(bomb)).pipe(createZstdCompress()))));
