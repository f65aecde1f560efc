import { constants, createZstdCompress, zstdDecompressSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundleBomb } from '../../../test/support/stores/bundle-bomb.ts';
import { madeBlob, madeBundle, sealedLines } from '../../../test/support/stores/made-bundle.ts';
import { openRuntime } from '../../runtime.ts';
import { isPerdureError } from '../../schema/error.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { bundleVersion } from './bundle-format.ts';
import { sealed } from './bundle-seal.ts';
import { readBundle } from './read-bundle.ts';

const exported = async (): Promise<Buffer> => {
  await using runtime = await openRuntime({ store: openMemoryStore() });
  const session = await runtime.sessions.open();
  await session.append({ role: 'user', content: 'hello' });
  return Buffer.concat(await Array.fromAsync(session.export()));
};

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const isTaken = async (bytes: Uint8Array, size = bytes.length): Promise<boolean> => {
  try {
    await Array.fromAsync(readBundle(inPieces(bytes, size)));
    return true;
  } catch (error) {
    if (isPerdureError(error, 'BUNDLE_INVALID')) return false;
    throw error;
  }
};

const flipped = (bytes: Uint8Array, bit: number): Uint8Array => {
  const changed = Buffer.from(bytes);
  changed[bit >> 3]! ^= 1 << (bit & 7);
  return changed;
};

describe.each(['compressed', 'plain'])('a bundle that is %s', (form) => {
  let bundle: Buffer;
  beforeAll(async () => {
    const bytes = await exported();
    bundle = form === 'plain' ? zstdDecompressSync(bytes) : bytes;
  });

  test('[BUN3] is accepted if it is complete, in chunks of any size', async () => {
    for (const size of [1, 7, 100, bundle.length]) expect(await isTaken(bundle, size)).toBe(true);
  });

  test('[BUN3] is rejected wherever it is cut off', async () => {
    for (let length = 0; length < bundle.length; length++) {
      expect({ length, isTaken: await isTaken(bundle.subarray(0, length)) }).toEqual({ length, isTaken: false });
    }
  });

  test('[BUN3] is rejected if any bit of it was changed', async () => {
    for (let bit = 0; bit < bundle.length * 8; bit++) {
      expect({ bit, isTaken: await isTaken(flipped(bundle, bit)) }).toEqual({ bit, isTaken: false });
    }
  });

  test('[BUN3] is rejected with anything before or after it', async () => {
    for (const more of ['\ufeff', ' ', '\n', '\0']) {
      expect(await isTaken(Buffer.concat([Buffer.from(more), bundle]))).toBe(false);
      expect(await isTaken(Buffer.concat([bundle, Buffer.from(more)]))).toBe(false);
    }
  });
});

test.each([
  ['{"end":', '{ "end":'],
  ['}}\n', '}}\r\n'],
  ['"lines":3', '"lines":3.0'],
])('[BUN3] a plain bundle whose end has %j replaced by %j is rejected', async (from, to) => {
  const text = zstdDecompressSync(await exported()).toString();
  const at = text.lastIndexOf(from);
  expect(at).toBeGreaterThan(0);
  expect(await isTaken(Buffer.from(text.slice(0, at) + to + text.slice(at + from.length)))).toBe(false);
});

const refusal = (bytes: Uint8Array): Promise<unknown> =>
  Array.fromAsync(readBundle(inPieces(bytes, 65_536))).then(
    () => 'taken',
    (error: Error) => error.message,
  );

test('[BUN11] a content above the limit is rejected before its bytes arrive, and the largest allowed one is read', async () => {
  expect(await refusal(await bundleBomb({ contents: 1, mebibytes: 33 }))).toContain('more than 33554432 bytes');
  expect(await refusal(await bundleBomb({ contents: 1, mebibytes: 32 }))).toContain('its end is missing');
});

test('[BUN11] a folder listing above the limit is rejected before its bytes arrive', async () => {
  const limit = 128 * 1024 * 1024;
  const announced = (size: number) =>
    madeBundle([{ type: 'session.opened', payload: {} }], madeBlob('tree', Buffer.from('x'), { size })).bytes;
  expect(await refusal(announced(limit + 1))).toContain(`has more than ${limit} bytes`);
  expect(await refusal(announced(limit))).not.toContain('has more than');
});

test('[BUN11] a line above the limit is rejected by its byte count', async () => {
  for (const [character, count] of [
    ['x', 36],
    ['\u6f22', 12],
  ] as const) {
    const line = JSON.stringify({ piece: character.repeat(count * 1024 * 1024) });
    expect(await refusal(sealedLines([line]))).toContain('a line has more than');
  }
});

test('[BUN11] a compression window above the limit is rejected', async () => {
  const plain = zstdDecompressSync(await exported());
  const withWindow = async (log: number): Promise<Uint8Array> => {
    const params = { [constants.ZSTD_c_windowLog]: log, [constants.ZSTD_c_contentSizeFlag]: 0 };
    const compress = createZstdCompress({ params });
    compress.write(plain);
    compress.flush(() => compress.end());
    return Buffer.concat(await Array.fromAsync(sealed(compress)));
  };
  expect(await isTaken(await withWindow(23))).toBe(true);
  expect(await isTaken(await withWindow(24))).toBe(false);
});

test('[BUN6] only the first of many invalid sessions in a header is reported', async () => {
  const header = { bundle: 'perdure', version: bundleVersion, sessions: Array.from({ length: 1000 }, () => 1) };
  const reading = Array.fromAsync(readBundle(inPieces(sealedLines([JSON.stringify(header)]), 65_536)));
  await expect(reading).rejects.toMatchObject({
    code: 'BUNDLE_INVALID',
    message: expect.stringContaining('expected object'),
    cause: { issues: { length: 1 } },
  });
});
