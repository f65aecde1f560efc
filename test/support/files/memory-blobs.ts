import { createHash } from 'node:crypto';
import type { BlobHash, Blobs } from '../../../src/core/ports/blobs.ts';

/** Blobs in memory. Bytes that do not match their hash are rejected, as by a store. */
export class MemoryBlobs implements Blobs {
  readonly kept = new Map<BlobHash, Uint8Array>();
  /** Number of blobs that were put, including those already stored. */
  puts = 0;

  async putBlobs(blobs: Parameters<Blobs['putBlobs']>[0]): Promise<void> {
    for (const { hash, bytes } of blobs) {
      if (createHash('sha256').update(bytes).digest('hex') !== hash)
        throw new Error(`${hash} does not match its bytes`);
      this.puts++;
      this.kept.set(hash, bytes.slice());
    }
  }

  async readBlob(hash: BlobHash): Promise<Uint8Array | undefined> {
    return this.kept.get(hash);
  }

  async hasBlobs(hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>> {
    return new Set(hashes.filter((hash) => this.kept.has(hash)));
  }
}
