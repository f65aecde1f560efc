import type { BlobHash } from '../../../core/ports/blobs.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import type { Database } from '../server/database.ts';
import { readBlobs } from './blobs.ts';

interface Waiting extends Pick<PromiseWithResolvers<Uint8Array | undefined>, 'resolve' | 'reject'> {
  readonly workspace: WorkspaceId;
  readonly hash: BlobHash;
}

const statementBlobs = 32;
/** The share of the pool that blob reads may use at the same time. */
const share = 1 / 4;

/** Batches concurrent blob reads, and leaves connections free for other work. */
export class BlobReads {
  readonly #database: Database;
  #waiting: Waiting[] = [];
  #underWay = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  read(workspace: WorkspaceId, hash: BlobHash): Promise<Uint8Array | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>();
    this.#waiting.push({ workspace, hash, resolve, reject });
    this.#begin();
    return promise;
  }

  #begin(): void {
    const [first] = this.#waiting;
    if (!first || this.#underWay >= Math.ceil(this.#database.poolSize * share)) return;
    const batch = this.#waiting.filter(({ workspace }) => workspace === first.workspace).slice(0, statementBlobs);
    const taken = new Set(batch);
    this.#waiting = this.#waiting.filter((each) => !taken.has(each));
    this.#underWay += 1;
    void this.#answer(first.workspace, batch).finally(() => {
      this.#underWay -= 1;
      this.#begin();
    });
  }

  async #answer(workspace: WorkspaceId, batch: readonly Waiting[]): Promise<void> {
    try {
      const hashes = batch.map(({ hash }) => Buffer.from(hash, 'hex'));
      const found = await readBlobs(this.#database, workspace, hashes);
      const given = new Set<BlobHash>();
      for (const { hash, resolve } of batch) {
        const bytes = found.get(hash);
        resolve(bytes && given.has(hash) ? new Uint8Array(bytes) : bytes);
        given.add(hash);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
