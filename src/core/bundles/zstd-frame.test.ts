import { constants, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { noise } from '../../testing/contract/log/new-events.ts';
import { ZstdFrame } from './zstd-frame.ts';

const contents = [
  new Uint8Array(0),
  new Uint8Array(300_000),
  noise(7, 1),
  noise(300_000, 2),
  Buffer.from('ab'.repeat(900)),
];

const takesAll = (bytes: Uint8Array, size: number): boolean => {
  const frame = new ZstdFrame();
  const starts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => index * size);
  return starts.every((start) => frame.take(bytes.subarray(start, start + size)));
};

test('[BUN3] the end of a frame is found in chunks of any size, with and without a checksum', () => {
  for (const content of contents) {
    for (const checksum of [0, 1]) {
      const frame = zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: checksum } });
      for (const size of [1, 3, 1000, frame.length, frame.length + 1]) {
        expect(takesAll(frame, size)).toBe(true);
        expect(takesAll(Buffer.concat([frame, zstdCompressSync('')]), size)).toBe(true);
        for (const more of [Buffer.from([0]), zstdCompressSync('more'), noise(20, 3)]) {
          expect(takesAll(Buffer.concat([frame, more]), size)).toBe(false);
        }
      }
    }
  }
});
