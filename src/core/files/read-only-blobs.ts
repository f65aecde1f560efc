import type { Blobs } from '../ports/blobs.ts';

/** Returns blobs that discard all writes, for callers that only read. */
export const readOnlyBlobs = (blobs: Blobs): Blobs => ({
  putBlobs: async () => undefined,
  readBlob: (hash) => blobs.readBlob(hash),
  hasBlobs: (hashes) => blobs.hasBlobs(hashes),
});
