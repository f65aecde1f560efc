import { createHash } from 'node:crypto';
import type { BlobHash, Blobs } from '../../../src/core/ports/blobs.ts';

/** Refuses bytes under another hash than theirs, as a store does. */
export class MemoryBlobs implements Blobs {
  readonly kept = new Map<BlobHash, Uint8Array>();
  /** How many were put, also those that were there. */
  puts = 0;

  async putBlobs(blobs: Parameters<Blobs['putBlobs']>[0]): Promise<void> {
    for (const { hash, bytes } of blobs) {
      if (createHash('sha256').update(bytes).digest('hex') !== hash) throw new Error(`${hash} has other bytes`);
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
