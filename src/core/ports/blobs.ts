import type { WorkspaceId } from '../../schema/ids.ts';

/** SHA-256 of the bytes, in hex. */
export type BlobHash = string;

export interface NewBlob {
  readonly hash: BlobHash;
  readonly bytes: Uint8Array;
}

/** Where the bytes of files and trees are kept, by their hash, within one workspace. */
export interface Blobs {
  /** Durable when it returns; what is there already is left alone. After a crash some may be there. */
  putBlobs(blobs: readonly NewBlob[]): Promise<void>;
  readBlob(hash: BlobHash): Promise<Uint8Array | undefined>;
  /** Those of them that are there. They stay for as long as it may take until a log names them. */
  hasBlobs(hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>>;
}

export interface LooseBlobs {
  readonly limit: number;
  /** The last of the page before. */
  readonly after?: BlobHash | undefined;
}

/** A blob that no payload and no fold snapshot refers to by itself. What trees name, the store does not know. */
export interface LooseBlob {
  readonly hash: BlobHash;
  readonly size: number;
  /** By the store's clock; nobody has put it or asked for it later. */
  readonly usedAt: number;
}

/** What a store keeps beside logs. Payloads that were spilled are here too, and stay as long as their events. */
export interface BlobStore {
  putBlobs(workspace: WorkspaceId, blobs: readonly NewBlob[]): Promise<void>;
  readBlob(workspace: WorkspaceId, hash: BlobHash): Promise<Uint8Array | undefined>;
  hasBlobs(workspace: WorkspaceId, hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>>;
  /** In the order of hashes. */
  looseBlobs(workspace: WorkspaceId, query: LooseBlobs): Promise<readonly LooseBlob[]>;
  /** Only those that are loose still and were last used before that time of the store's clock. Gives those that went. */
  removeBlobs(workspace: WorkspaceId, hashes: readonly BlobHash[], usedBefore: number): Promise<readonly BlobHash[]>;
  /** The store's clock. */
  now(): Promise<number>;
}
