import type { Blobs } from '../ports/blobs.ts';

/** Discards all writes, for callers that only look. */
export const readOnlyBlobs = (blobs: Blobs): Blobs => ({
  putBlobs: async () => undefined,
  readBlob: (hash) => blobs.readBlob(hash),
  hasBlobs: (hashes) => blobs.hasBlobs(hashes),
});
