/** The first bytes of a zstd frame. */
export const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

const dictionaryIdBytes = [0, 1, 2, 4];
const contentSizeBytes = [0, 2, 4, 8];
const frameHeaderBytes = zstdMagic.length + 1;
const blockHeaderBytes = 3;
const checksumBytes = 4;
const runLengthBlock = 1;

const isMagic = (bytes: Buffer): boolean => {
  const known = Math.min(bytes.length, zstdMagic.length);
  return bytes.subarray(0, known).equals(zstdMagic.subarray(0, known));
};

/**
 * Finds the end of a zstd frame by its lengths (RFC 8878), because the decompressor ignores the bytes after it. Node's
 * compressor may append another frame, which is empty.
 */
export class ZstdFrame {
  #header = Buffer.alloc(0);
  #skipBytes = 0;
  #hasChecksum = false;
  #place: 'frame' | 'block' = 'frame';
  #isFirst = true;

  /** Adds a chunk. Returns false if some of its bytes do not belong to the frame. */
  take(chunk: Uint8Array): boolean {
    for (let rest = chunk; rest.length > 0; ) {
      if (this.#skipBytes > 0) {
        const skipped = Math.min(this.#skipBytes, rest.length);
        this.#skipBytes -= skipped;
        rest = rest.subarray(skipped);
      } else {
        const missing = (this.#place === 'frame' ? frameHeaderBytes : blockHeaderBytes) - this.#header.length;
        this.#header = Buffer.concat([this.#header, rest.subarray(0, missing)]);
        if (!this.#accepts(this.#header, rest.length >= missing)) return false;
        rest = rest.subarray(missing);
      }
    }
    return true;
  }

  #accepts(header: Buffer, isWhole: boolean): boolean {
    if (this.#place === 'frame' && !isMagic(header)) return false;
    if (!isWhole) return true;
    this.#header = Buffer.alloc(0);
    if (this.#place === 'block') return this.#block(header.readUIntLE(0, blockHeaderBytes));
    this.#frame(header.at(-1)!);
    return true;
  }

  #frame(descriptor: number): void {
    const isSingleSegment = (descriptor & 0x20) !== 0;
    const sizeFlag = descriptor >> 6;
    const sizeBytes = sizeFlag === 0 && isSingleSegment ? 1 : contentSizeBytes[sizeFlag]!;
    this.#hasChecksum = (descriptor & 0x04) !== 0;
    this.#skipBytes = (isSingleSegment ? 0 : 1) + dictionaryIdBytes[descriptor & 0x03]! + sizeBytes;
    this.#place = 'block';
  }

  #block(block: number): boolean {
    const size = block >> 3;
    if (size > 0 && !this.#isFirst) return false;
    this.#skipBytes = ((block >> 1) & 3) === runLengthBlock ? 1 : size;
    if ((block & 1) === 0) return true;
    if (this.#hasChecksum) this.#skipBytes += checksumBytes;
    this.#isFirst = false;
    this.#place = 'frame';
    return true;
  }
}
