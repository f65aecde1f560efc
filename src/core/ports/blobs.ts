import type { WorkspaceId } from '../../schema/ids.ts';

/** SHA-256 of the bytes, in hex. */
export type BlobHash = string;

export interface NewBlob {
  readonly hash: BlobHash;
  readonly bytes: Uint8Array;
}

/** The bytes of files and trees of one workspace, by their hash. */
export interface Blobs {
  /** Durable when it returns. Existing blobs are not written again. A crash can leave some of them stored. */
  putBlobs(blobs: readonly NewBlob[]): Promise<void>;
  readBlob(hash: BlobHash): Promise<Uint8Array | undefined>;
  /** Returns the hashes that exist. Asking counts as a use, so that they outlive the grace until a log names them. */
  hasBlobs(hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>>;
}

export interface LooseBlobs {
  readonly limit: number;
  /** The last hash of the previous page. */
  readonly after?: BlobHash | undefined;
}

/** A blob that no payload and no fold snapshot names directly. The store does not know whether a tree names it. */
export interface LooseBlob {
  readonly hash: BlobHash;
  readonly size: number;
  /** When the blob was last put or asked for, by the store's clock. */
  readonly usedAt: number;
}

/** The blobs of a store. They include large payloads, which stay as long as their events. */
export interface BlobStore {
  putBlobs(workspace: WorkspaceId, blobs: readonly NewBlob[]): Promise<void>;
  readBlob(workspace: WorkspaceId, hash: BlobHash): Promise<Uint8Array | undefined>;
  hasBlobs(workspace: WorkspaceId, hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>>;
  /** Sorted by hash. */
  looseBlobs(workspace: WorkspaceId, query: LooseBlobs): Promise<readonly LooseBlob[]>;
  /**
   * Removes the blobs that are still loose and were last used before that time of the store's clock. Returns the
   * removed hashes.
   */
  removeBlobs(workspace: WorkspaceId, hashes: readonly BlobHash[], usedBefore: number): Promise<readonly BlobHash[]>;
  /** The store's clock. */
  now(): Promise<number>;
}
