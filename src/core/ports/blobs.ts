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
  getBlob(hash: BlobHash): Promise<Uint8Array | undefined>;
  /** Those of them that are there. They stay for as long as it may take until a log names them. */
  hasBlobs(hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>>;
}
