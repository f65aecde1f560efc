import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import type { NewBlob } from '../../core/ports/blobs.ts';
import { inlinePayloadBytes, maxPayloadBytes, type StoredBody } from '../../core/ports/store.ts';
import { blobHash } from '../../core/session/events/chain.ts';
import { PerdureError } from '../../schema/error.ts';
import { lz4Compress, lz4Decompress } from './lz4.ts';
import { sha256 } from './sha256.ts';

/** The encodings of an event's `payload` column. The numbers are stored, so they must not change. */
export const payloadEncoding = { plain: 0, lz4: 1, blob: 2, redacted: 3 } as const;

/** The encodings of a blob's `bytes` column. The numbers are stored, so they must not change. */
export const blobEncoding = { plain: 0, zstd: 1 } as const;

/** Compressing smaller payloads gains less than it costs. */
const minCompressBytes = 400;

export interface EncodedPayload {
  readonly encoding: number;
  /** The payload column: encoded bytes, or the hash of the blob. */
  readonly stored: Uint8Array;
  readonly blob?: Uint8Array;
}

export interface EncodedBlob {
  readonly hash: Uint8Array;
  readonly encoding: number;
  readonly size: number;
  readonly stored: Uint8Array;
}

export const encodeUncompressed = (payload: Uint8Array): EncodedPayload =>
  payload.length > inlinePayloadBytes
    ? { encoding: payloadEncoding.blob, stored: blobHash(payload), blob: payload }
    : { encoding: payloadEncoding.plain, stored: payload };

export const encodePayload = (payload: Uint8Array): EncodedPayload => {
  if (payload.length < minCompressBytes || payload.length > inlinePayloadBytes) return encodeUncompressed(payload);
  const packed = lz4Compress(payload, Math.floor(payload.length * 0.9));
  if (!packed) return encodeUncompressed(payload);
  const stored = Buffer.allocUnsafe(packed.length + 2);
  stored.writeUInt16BE(payload.length);
  stored.set(packed, 2);
  return { encoding: payloadEncoding.lz4, stored };
};

/**
 * An upper bound for the decoded size, even of damaged bytes. For a payload that is stored as a blob, it is the size
 * in the blob's row.
 */
export const unpackedBytes = (encoding: number, stored: Uint8Array, blobSize: () => number): number => {
  if (encoding === payloadEncoding.blob) return blobSize();
  return encoding === payloadEncoding.lz4 ? (stored[0] ?? 0) * 256 + (stored[1] ?? 0) : stored.length;
};

const damaged = (reason: string): StoredBody => ({ kind: 'damaged', reason });

/**
 * Decodes a payload column. `blob` is the content of a payload that is stored as a blob, or undefined if the store
 * cannot find it.
 */
export const decodePayload = (
  encoding: number,
  salt: Uint8Array | null,
  stored: Uint8Array,
  blob: Uint8Array | undefined,
): StoredBody => {
  if (encoding === payloadEncoding.redacted) return { kind: 'redacted', digest: stored };
  if (!salt) return damaged('the salt is missing');
  switch (encoding) {
    case payloadEncoding.plain:
      return { kind: 'bytes', salt, bytes: stored };
    case payloadEncoding.blob:
      return blob
        ? { kind: 'bytes', salt, bytes: blob }
        : damaged('the blob that holds its payload is missing or damaged');
    case payloadEncoding.lz4:
      try {
        const size = new DataView(stored.buffer, stored.byteOffset, stored.byteLength).getUint16(0);
        return { kind: 'bytes', salt, bytes: lz4Decompress(stored.subarray(2), size) };
      } catch {
        return damaged('the compressed payload is damaged');
      }
    default:
      return damaged(`the payload encoding ${encoding} is unknown`);
  }
};

/**
 * Limits what decompressing a blob may allocate. `size` comes from the blob's row, and the size limit of an append
 * bounds it.
 */
const decompressLimit = (size: number) => ({ maxOutputLength: Math.max(1, Math.min(size, maxPayloadBytes * 4)) });
const compressOptions = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

const packedBlob = (hash: Uint8Array, bytes: Uint8Array, packed: Uint8Array): EncodedBlob => {
  const smaller = packed.length < bytes.length;
  return {
    hash,
    encoding: smaller ? blobEncoding.zstd : blobEncoding.plain,
    size: bytes.length,
    stored: smaller ? packed : bytes,
  };
};

const hashed = (blob: EncodedBlob, { hash }: NewBlob): EncodedBlob => {
  if (Buffer.from(blob.hash).toString('hex') === hash) return blob;
  throw new PerdureError('INVALID_INPUT', `the bytes of the blob ${hash} do not match its hash`, {
    details: { hash },
  });
};

/** Encodes the blobs, and throws if the bytes of one do not match its hash. */
export const encodeBlobsSync = (given: readonly NewBlob[]): readonly EncodedBlob[] =>
  given.map((blob) => hashed(encodeBlobSync(blob.bytes), blob));
export const encodeBlobs = (given: readonly NewBlob[]): Promise<readonly EncodedBlob[]> =>
  Promise.all(given.map(async (blob) => hashed(await encodeBlob(blob.bytes), blob)));

/** For worker threads, because it blocks its thread. */
export const encodeBlobSync = (bytes: Uint8Array): EncodedBlob =>
  packedBlob(blobHash(bytes), bytes, zstdCompressSync(bytes, compressOptions));
export const decodeBlobSync = (encoding: number, stored: Uint8Array, size: number): Uint8Array => {
  if (encoding !== blobEncoding.zstd) return stored;
  const { buffer, byteOffset, length } = zstdDecompressSync(stored, decompressLimit(size));
  return new Uint8Array(buffer, byteOffset, length);
};

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress) as (bytes: Uint8Array, options: object) => Promise<Buffer>;

/** For the event loop: hashes and compresses in the thread pool. */
export const encodeBlob = async (bytes: Uint8Array): Promise<EncodedBlob> => {
  const [hash, packed] = await Promise.all([sha256(bytes), compress(bytes, compressOptions)]);
  return packedBlob(hash, bytes, packed);
};
export const decodeBlob = async (encoding: number, stored: Uint8Array, size: number): Promise<Uint8Array> =>
  encoding === blobEncoding.zstd ? decompress(stored, decompressLimit(size)) : stored;
