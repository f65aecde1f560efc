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

/** Which blobs nobody may need any more. */
export interface OldBlobs {
  /** Put, or asked for, before this time of the store's clock. */
  readonly putBefore: number;
  readonly limit: number;
  /** The last of the page before. */
  readonly after?: BlobHash | undefined;
}

export interface OldBlob {
  readonly hash: BlobHash;
  readonly size: number;
}

/** What a store keeps beside logs. Payloads that were spilled are here too, and stay as long as their events. */
export interface BlobStore {
  putBlobs(workspace: WorkspaceId, blobs: readonly NewBlob[]): Promise<void>;
  readBlob(workspace: WorkspaceId, hash: BlobHash): Promise<Uint8Array | undefined>;
  hasBlobs(workspace: WorkspaceId, hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>>;
  /** Those that no event and no fold snapshot refers to by itself, in the order of hashes. What trees name, the store does not know. */
  oldBlobs(workspace: WorkspaceId, query: OldBlobs): Promise<readonly OldBlob[]>;
  /** Only those that are still as `oldBlobs` found them. Gives those that went. */
  removeBlobs(workspace: WorkspaceId, hashes: readonly BlobHash[], putBefore: number): Promise<readonly BlobHash[]>;
}
