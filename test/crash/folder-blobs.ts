import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BlobHash, Blobs } from '../../src/core/ports/blobs.ts';

/** Blobs that outlive a process: a file for each, whole or not there. */
export class FolderBlobs implements Blobs {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  async putBlobs(blobs: Parameters<Blobs['putBlobs']>[0]): Promise<void> {
    for (const { hash, bytes } of blobs) {
      const draft = join(this.#folder, `draft-${process.pid}`);
      writeFileSync(draft, bytes);
      renameSync(draft, join(this.#folder, hash));
    }
  }

  async readBlob(hash: BlobHash): Promise<Uint8Array | undefined> {
    return existsSync(join(this.#folder, hash)) ? readFileSync(join(this.#folder, hash)) : undefined;
  }

  async hasBlobs(hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>> {
    const there = new Set(readdirSync(this.#folder));
    return new Set(hashes.filter((hash) => there.has(hash)));
  }
}
