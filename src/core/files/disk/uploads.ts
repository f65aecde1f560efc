import type { BlobHash, Blobs, NewBlob } from '../../ports/blobs.ts';

const maxBatchBytes = 4 * 1024 * 1024;
const maxBatchBlobs = 512;
/** The maximum size of a batch that is sent without first asking which blobs exist. */
const fewBlobs = 64;

/** Sends blobs to the store in batches. One batch is in flight while the next is filled. */
export class Uploads implements AsyncDisposable {
  readonly #blobs: Blobs;
  readonly #seen = new Set<BlobHash>();
  #batch: NewBlob[] = [];
  #bytes = 0;
  #underWay: Promise<void> = Promise.resolve();

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  /** Adds a blob. If a promise is returned, await it before adding more, so that memory stays bounded. */
  add(blob: NewBlob): Promise<void> | undefined {
    if (this.#seen.has(blob.hash)) return undefined;
    this.#seen.add(blob.hash);
    this.#batch.push(blob);
    this.#bytes += blob.bytes.length;
    return this.#bytes >= maxBatchBytes || this.#batch.length >= maxBatchBlobs ? this.#send() : undefined;
  }

  /** Sends the rest. When it returns, every added blob is in the store. */
  async finish(): Promise<void> {
    await this.#send();
    await this.#underWay;
  }

  /** Waits for the batch in flight, and ignores its failure. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#underWay.catch(() => undefined);
  }

  async #send(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#bytes = 0;
    await this.#underWay;
    this.#underWay = this.#put(batch);
    // Prevents an unhandled rejection. The next await reports the failure.
    this.#underWay.catch(() => undefined);
  }

  async #put(batch: readonly NewBlob[]): Promise<void> {
    if (batch.length === 0) return;
    if (batch.length <= fewBlobs) return this.#blobs.putBlobs(batch);
    const there = await this.#blobs.hasBlobs(batch.map(({ hash }) => hash));
    const missing = batch.filter(({ hash }) => !there.has(hash));
    if (missing.length > 0) await this.#blobs.putBlobs(missing);
  }
}
