import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lz4Compress, lz4Decompress, maxLz4Bytes } from './lz4.ts';

const roundTrip = (bytes: Uint8Array): Uint8Array => {
  const packed = lz4Compress(bytes, Number.POSITIVE_INFINITY);
  if (!packed) throw new Error('lz4Compress without a bound returned nothing');
  return lz4Decompress(packed, bytes.length);
};

const noise = (size: number): Uint8Array => {
  let state = 1;
  return Uint8Array.from({ length: size }, () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state >> 16;
  });
};

/** Uses few distinct bytes, so that the compressor finds many matches. */
const repetitive = fc
  .array(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 12, max: 3 }), fc.integer({ min: 1, max: 300 })), {
    maxLength: 30,
  })
  .map((runs) => Uint8Array.from(runs.flatMap(([run, times]) => Array.from({ length: times }, () => [...run]).flat())))
  .filter(({ length }) => length <= maxLz4Bytes);

describe('lz4', () => {
  test('[LOG9] any bytes survive a round trip', () => {
    const comesBack = (bytes: Uint8Array) => Buffer.compare(roundTrip(bytes), bytes) === 0;
    fc.assert(fc.property(fc.uint8Array({ maxLength: 2000 }), comesBack));
    fc.assert(fc.property(repetitive, comesBack));
  });

  test.each([0, 1, 4, 5, 11, 12, 13, 14, 15, 16, 254, 255, 256, 270, 271, 4096, maxLz4Bytes - 1, maxLz4Bytes])(
    '[LOG9] %i bytes survive a round trip, both constant and random',
    (size) => {
      for (const bytes of [new Uint8Array(size).fill(7), noise(size)]) {
        expect(Buffer.compare(roundTrip(bytes), bytes)).toBe(0);
      }
    },
  );

  test('compressing a view into a larger buffer reads only the view', () => {
    const all = noise(3000);
    const view = all.subarray(1000, 2000);
    expect(roundTrip(view)).toEqual(view.slice());
  });

  test('repetitive bytes compress well, and lz4Compress returns undefined for bytes that do not shrink below the limit', () => {
    const text = new TextEncoder().encode('{"role":"assistant"}'.repeat(200));
    expect(lz4Compress(text, text.length)!.length).toBeLessThan(100);
    expect(lz4Compress(noise(4000), 3600)).toBeUndefined();
  });

  test('lz4Compress rejects more than 64 KiB', () => {
    expect(() => lz4Compress(new Uint8Array(maxLz4Bytes + 1), 1)).toThrow(RangeError);
  });

  test('[FAULT2] hostile input decodes to exactly the requested size or throws a RangeError', () => {
    const attempt = (source: Uint8Array, size: number) => {
      try {
        expect(lz4Decompress(source, size)).toHaveLength(size);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(4000), attempt), { numRuns: 500 });
    const packed = lz4Compress(new TextEncoder().encode('abcdefgh'.repeat(500)), 4000)!;
    fc.assert(
      fc.property(fc.nat(packed.length - 1), fc.integer({ min: 0, max: 255 }), (at, byte) =>
        attempt(packed.with(at, byte), 4000),
      ),
      { numRuns: 500 },
    );
    for (let size = 0; size < packed.length; size++) attempt(packed.subarray(0, size), 4000);
  });

  test.each([
    ['a match before the beginning of the output', [0x10, 65, 2, 0]],
    ['a match at distance zero', [0x10, 65, 0, 0]],
    ['a literal run past the end of the input', [0xf0, 255]],
    ['an unterminated length', [0xff, 255, 255, 255]],
    ['a truncated offset', [0x10, 65, 1]],
  ])('[FAULT2] decompressing %s reports damage', (_, bytes) => {
    expect(() => lz4Decompress(Uint8Array.from(bytes), 100)).toThrow('damaged');
  });
});
