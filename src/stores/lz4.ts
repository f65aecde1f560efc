/*
 * The LZ4 block format. Payloads of a few kilobytes are compressed one by one on the append path, where setting up a context of
 * node:zlib costs four times what the whole of this does (measured: 65 against 17 µs for 4 kB). Blobs use zstd.
 */
const hashBits = 12;
const minMatch = 4;
/** The format wants the last five bytes literal and no match to begin within the last twelve. */
const lastLiterals = 5;
const matchLimit = 12;
export const maxLz4Bytes = 64 * 1024 - 1;

const table = new Uint16Array(1 << hashBits);
const scratch = new Uint8Array(maxLz4Bytes + Math.ceil(maxLz4Bytes / 255) + 16);

const writeLength = (target: Uint8Array, at: number, length: number): number => {
  let rest = length;
  let place = at;
  for (; rest >= 255; rest -= 255) target[place++] = 255;
  target[place++] = rest;
  return place;
};

/** Writes literals and, unless `matchLength` is 0, a match after them; gives the place behind. */
const writeSequence = (
  source: Uint8Array,
  from: number,
  to: number,
  target: Uint8Array,
  token: number,
  offset: number,
  matchLength: number,
): number => {
  const literals = to - from;
  const extra = matchLength === 0 ? 0 : matchLength - minMatch;
  target[token] = (Math.min(literals, 15) << 4) | Math.min(extra, 15);
  let write = literals >= 15 ? writeLength(target, token + 1, literals - 15) : token + 1;
  for (let at = from; at < to; at++) target[write++] = source[at]!;
  if (matchLength === 0) return write;
  target[write++] = offset & 255;
  target[write++] = offset >> 8;
  return extra >= 15 ? writeLength(target, write, extra - 15) : write;
};

/** Compresses up to 64 KiB; undefined when the result would not be smaller than `maxBytes`. It stands where the next one will: copy it. */
export const lz4Compress = (source: Uint8Array, maxBytes: number): Uint8Array | undefined => {
  const { length } = source;
  if (length > maxLz4Bytes) throw new RangeError(`lz4Compress takes at most ${maxLz4Bytes} bytes`);
  const words = new DataView(source.buffer, source.byteOffset, length);
  table.fill(0);
  let read = 0;
  let write = 0;
  let anchor = 0;
  while (read < length - matchLimit) {
    const here = words.getInt32(read, true);
    const slot = Math.imul(here, 2654435761) >>> (32 - hashBits);
    const candidate = table[slot]! - 1;
    table[slot] = read + 1;
    if (candidate < 0 || words.getInt32(candidate, true) !== here) {
      read += 1 + ((read - anchor) >> 6);
      continue;
    }
    let end = read + minMatch;
    const shift = read - candidate;
    while (end < length - lastLiterals && source[end] === source[end - shift]) end++;
    write = writeSequence(source, anchor, read, scratch, write, shift, end - read);
    read = end;
    anchor = end;
  }
  write = writeSequence(source, anchor, length, scratch, write, 0, 0);
  return write < maxBytes ? scratch.subarray(0, write) : undefined;
};

const corrupt = (): never => {
  throw new RangeError('the compressed bytes are damaged');
};

/** Trusts nothing it reads: damaged input throws, and never writes or reads outside. */
export const lz4Decompress = (source: Uint8Array, size: number): Uint8Array => {
  const target = new Uint8Array(size);
  const end = source.length;
  let read = 0;
  let write = 0;
  while (read < end) {
    const token = source[read++]!;
    let literals = token >> 4;
    if (literals === 15) {
      for (let byte = 255; byte === 255; literals += byte) byte = read < end ? source[read++]! : corrupt();
    }
    if (literals > end - read || literals > size - write) corrupt();
    for (const literalEnd = read + literals; read < literalEnd; ) target[write++] = source[read++]!;
    if (read === end) break;
    if (end - read < 2) corrupt();
    const offset = source[read]! | (source[read + 1]! << 8);
    read += 2;
    let length = (token & 15) + minMatch;
    if (length === 15 + minMatch) {
      for (let byte = 255; byte === 255; length += byte) byte = read < end ? source[read++]! : corrupt();
    }
    if (offset === 0 || offset > write || length > size - write) corrupt();
    for (const matchEnd = write + length; write < matchEnd; write++) target[write] = target[write - offset]!;
  }
  if (write !== size) corrupt();
  return target;
};
