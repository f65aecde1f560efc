import type { WorkspaceId } from '../../schema/ids.ts';

/** SHA-256 of the bytes, in hex. */
export type BlobHash = string;

export interface NewBlob {
  readonly hash: BlobHash;
  readonly bytes: Uint8Array;
}

/** The bytes of files and trees of one workspace, by their hash. */
export interface Blobs {
  /**
   * Stores blobs, durably when it returns. Blobs that exist already are not written again. A crash during the call can
   * leave some of the blobs stored.
   */
  putBlobs(blobs: readonly NewBlob[]): Promise<void>;
  readBlob(hash: BlobHash): Promise<Uint8Array | undefined>;
  /**
   * Returns the hashes that exist. The query is counted as a use of these blobs, so that they stay for the grace
   * period until a log names them.
   */
  hasBlobs(hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>>;
}

export interface LooseBlobs {
  readonly limit: number;
  /** The last hash of the previous page. */
  readonly after?: BlobHash | undefined;
}

/**
 * A blob that no payload and no fold snapshot names directly. A tree may still name it, but the store does not read
 * trees.
 */
export interface LooseBlob {
  readonly hash: BlobHash;
  readonly size: number;
  /** When the blob was last stored or queried, by the store's clock. */
  readonly usedAt: number;
}

/**
 * The blobs of a store. They include large payloads, which are kept as long as their events. While a workspace has
 * quotas, its ledger counts the size of each blob that was put, in the same transaction.
 */
export interface BlobStore {
  /**
   * Blobs that are new count for `member`, if there is one, as well as for the workspace. Fails with `QUOTA_EXCEEDED`
   * and stores nothing if they exceed a quota of bytes.
   */
  putBlobs(workspace: WorkspaceId, blobs: readonly NewBlob[], member?: string): Promise<void>;
  readBlob(workspace: WorkspaceId, hash: BlobHash): Promise<Uint8Array | undefined>;
  hasBlobs(workspace: WorkspaceId, hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>>;
  /** Returns a page of loose blobs, sorted by hash. */
  looseBlobs(workspace: WorkspaceId, query: LooseBlobs): Promise<readonly LooseBlob[]>;
  /**
   * Removes the blobs that are still loose and were last used before `usedBefore` by the store's clock. Returns the
   * removed hashes.
   */
  removeBlobs(workspace: WorkspaceId, hashes: readonly BlobHash[], usedBefore: number): Promise<readonly BlobHash[]>;
  /** The current time of the store's clock. */
  now(): Promise<number>;
}
