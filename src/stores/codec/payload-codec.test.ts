import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inlinePayloadBytes } from '../../core/ports/store.ts';
import { blobHash } from '../../core/session/events/chain.ts';
import {
  blobEncoding,
  decodeBlob,
  decodeBlobSync,
  decodePayload,
  encodeBlob,
  encodeBlobSync,
  encodePayload,
  payloadEncoding,
} from './payload-codec.ts';

const salt = new Uint8Array(16).fill(9);
const textOf = (size: number): Uint8Array =>
  new TextEncoder().encode('{"text":"and so on"}'.repeat(size).slice(0, size));
const noise = (size: number): Uint8Array => {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
  return bytes;
};

describe('payloads', () => {
  test.each([0, 1, 399, 400, 401, 4096, inlinePayloadBytes])(
    '[LOG9] %i bytes survive a round trip, both text and noise',
    (size) => {
      for (const bytes of [textOf(size), noise(size)]) {
        const { encoding, stored, blob } = encodePayload(bytes);
        expect(blob).toBeUndefined();
        expect(decodePayload(encoding, salt, stored, undefined)).toEqual({ kind: 'bytes', salt, bytes });
      }
    },
  );

  test('[LOG9] any bytes survive a round trip', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000, max: 8 }), (bytes) => {
        const { encoding, stored } = encodePayload(bytes);
        expect(decodePayload(encoding, salt, stored, undefined)).toEqual({ kind: 'bytes', salt, bytes });
      }),
    );
  });

  test('[LOG9] compressing a second payload does not change the first result', () => {
    const first = encodePayload(textOf(4096));
    encodePayload(new TextEncoder().encode('something else '.repeat(300)));
    const read = decodePayload(first.encoding, salt, first.stored, undefined);
    expect(read).toEqual({ kind: 'bytes', salt, bytes: textOf(4096) });
  });

  test('long text is compressed; small or incompressible payloads are stored plain', () => {
    expect(encodePayload(textOf(4096)).encoding).toBe(payloadEncoding.lz4);
    expect(encodePayload(textOf(4096)).stored.length).toBeLessThan(400);
    expect(encodePayload(textOf(300)).encoding).toBe(payloadEncoding.plain);
    expect(encodePayload(noise(4096)).encoding).toBe(payloadEncoding.plain);
  });

  test('[BLOB1] a payload one byte over the inline limit is stored as a blob, and the event keeps the hash of the blob', () => {
    const bytes = textOf(inlinePayloadBytes + 1);
    const { encoding, stored, blob } = encodePayload(bytes);
    expect(encoding).toBe(payloadEncoding.blob);
    expect(stored).toEqual(blobHash(bytes));
    expect(blob).toBe(bytes);
    expect(decodePayload(encoding, salt, stored, blob)).toEqual({ kind: 'bytes', salt, bytes });
    expect(decodePayload(encoding, salt, stored, undefined)).toMatchObject({ kind: 'damaged' });
  });

  test('[FAULT2] a payload that cannot be decoded is reported as damaged and does not throw', () => {
    const { stored } = encodePayload(textOf(4096));
    const damaged = [
      decodePayload(payloadEncoding.lz4, salt, stored.subarray(0, 20), undefined),
      decodePayload(payloadEncoding.lz4, salt, new Uint8Array(1), undefined),
      decodePayload(payloadEncoding.lz4, salt, new Uint8Array(0), undefined),
      decodePayload(payloadEncoding.plain, null, stored, undefined),
      decodePayload(99, salt, stored, undefined),
    ];
    expect(damaged.map(({ kind }) => kind)).toEqual(damaged.map(() => 'damaged'));
  });

  test('[HASH3] a redacted payload decodes to its digest', () => {
    const digest = new Uint8Array(32).fill(1);
    expect(decodePayload(payloadEncoding.redacted, null, digest, undefined)).toEqual({ kind: 'redacted', digest });
  });
});

describe('blobs', () => {
  test.each([20_000, 1_000_000])(
    '[BLOB1] %i bytes survive a round trip, text and noise, in a thread and on the event loop',
    async (size) => {
      for (const bytes of [textOf(size), noise(size)]) {
        for (const blob of [encodeBlobSync(bytes), await encodeBlob(bytes)]) {
          expect(blob.size).toBe(size);
          expect(Buffer.compare(blob.hash, blobHash(bytes))).toBe(0);
          expect(Buffer.compare(decodeBlobSync(blob.encoding, blob.stored, size), bytes)).toBe(0);
          expect(Buffer.compare(await decodeBlob(blob.encoding, blob.stored, size), bytes)).toBe(0);
        }
      }
    },
  );

  test('text is compressed and noise is stored plain', () => {
    expect(encodeBlobSync(textOf(20_000))).toMatchObject({ encoding: blobEncoding.zstd });
    expect(encodeBlobSync(noise(20_000))).toMatchObject({ encoding: blobEncoding.plain });
  });

  test('[FAULT2] decoding throws on damaged bytes and on decompression bombs', async () => {
    const { encoding, stored } = encodeBlobSync(textOf(20_000));
    expect(() => decodeBlobSync(encoding, stored.subarray(0, 10), 20_000)).toThrow();
    await expect(decodeBlob(encoding, new Uint8Array(50), 20_000)).rejects.toThrow();
    const bomb = encodeBlobSync(new Uint8Array(80 * 1024 * 1024));
    expect(bomb.stored.length).toBeLessThan(20_000);
    expect(() => decodeBlobSync(bomb.encoding, bomb.stored, bomb.size)).toThrow();
  });

  test('[FAULT2] decoding throws when a blob decompresses to more bytes than its row says', async () => {
    const { encoding, stored } = encodeBlobSync(textOf(20_000));
    for (const size of [19_999, 1, 0, -1]) {
      expect(() => decodeBlobSync(encoding, stored, size)).toThrow();
      await expect(decodeBlob(encoding, stored, size)).rejects.toThrow();
    }
  });
});
