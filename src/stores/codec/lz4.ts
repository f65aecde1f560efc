import { lz4Code } from './lz4-code.ts';

/*
 * The LZ4 block format, in WebAssembly (lz4.wat). The append path compresses payloads of a few kilobytes one by one.
 * There, setting up a node:zlib context alone costs four times as much as this whole compression. Blobs use zstd.
 */
interface Code {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** Returns the length of the result at `out`. */
  compress(length: number): number;
  /** Returns nonzero if decompression produced exactly `size` bytes at `out`. */
  decompress(length: number, size: number): number;
}

/** Node provides WebAssembly, but TypeScript declares it only in its browser library. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

export const maxLz4Bytes = 64 * 1024 - 1;

const module = new WebAssembly.Module(Buffer.from(lz4Code, 'base64'));
const { memory, compress, decompress } = new WebAssembly.Instance(module).exports as Code;
/** The input starts at offset 0. */
const bytes = new Uint8Array(memory.buffer);
const out = 0x20000;
/** The largest possible result. Incompressible input grows a little. */
const maxPackedBytes = maxLz4Bytes + Math.ceil(maxLz4Bytes / 255) + 16;

/**
 * Compresses up to 64 KiB; undefined when the result would not be smaller than `maxBytes`. The next call overwrites
 * the result, so copy it.
 */
export const lz4Compress = (source: Uint8Array, maxBytes: number): Uint8Array | undefined => {
  if (source.length > maxLz4Bytes)
    throw new RangeError(`lz4Compress accepts at most ${maxLz4Bytes} bytes; got ${source.length}`);
  bytes.set(source);
  const length = compress(source.length);
  return length < maxBytes ? bytes.subarray(out, out + length) : undefined;
};

/** Decompresses to exactly `size` bytes, and throws on damaged input. */
export const lz4Decompress = (source: Uint8Array, size: number): Uint8Array => {
  const fits = source.length <= maxPackedBytes && size <= maxLz4Bytes;
  if (fits) bytes.set(source);
  if (!fits || !decompress(source.length, size)) throw new RangeError('the compressed bytes are damaged');
  return bytes.slice(out, out + size);
};
