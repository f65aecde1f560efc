import type { Blobs } from '../ports/blobs.ts';

/** For who only looks. */
export const readOnlyBlobs = (blobs: Blobs): Blobs => ({
  putBlobs: async () => undefined,
  readBlob: (hash) => blobs.readBlob(hash),
  hasBlobs: (hashes) => blobs.hasBlobs(hashes),
});
