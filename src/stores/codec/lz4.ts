import { lz4Code } from './lz4-code.ts';

/*
 * The LZ4 block format, in WebAssembly (lz4.wat). Payloads of a few kilobytes are compressed one by one on the append path, where
 * setting up a context of node:zlib costs four times what the whole of this does. Blobs use zstd.
 */
interface Code {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** The length of what stands at `out` then. */
  compress(length: number): number;
  /** Whether that gave exactly `size` bytes at `out`. */
  decompress(length: number, size: number): number;
}

/** Node has it; the types of TypeScript's own library count it among those of browsers. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

export const maxLz4Bytes = 64 * 1024 - 1;

const module = new WebAssembly.Module(Buffer.from(lz4Code, 'base64'));
const { memory, compress, decompress } = new WebAssembly.Instance(module).exports as Code;
/** What is given stands at its beginning. */
const bytes = new Uint8Array(memory.buffer);
const out = 0x20000;
/** What came in may have grown by a little. */
const maxPackedBytes = maxLz4Bytes + Math.ceil(maxLz4Bytes / 255) + 16;

/** Compresses up to 64 KiB; undefined when the result would not be smaller than `maxBytes`. It stands where the next one will: copy it. */
export const lz4Compress = (source: Uint8Array, maxBytes: number): Uint8Array | undefined => {
  if (source.length > maxLz4Bytes) throw new RangeError(`lz4Compress takes at most ${maxLz4Bytes} bytes`);
  bytes.set(source);
  const length = compress(source.length);
  return length < maxBytes ? bytes.subarray(out, out + length) : undefined;
};

/** Trusts nothing it reads: damaged input throws. */
export const lz4Decompress = (source: Uint8Array, size: number): Uint8Array => {
  const fits = source.length <= maxPackedBytes && size <= maxLz4Bytes;
  if (fits) bytes.set(source);
  if (!fits || !decompress(source.length, size)) throw new RangeError('the compressed bytes are damaged');
  return bytes.slice(out, out + size);
};
