import type { WorkspaceId } from '../../schema/ids.ts';
import type { BlobStore, Blobs } from '../ports/blobs.ts';

/** The blobs of a store as one workspace sees them. */
export const blobsOf = (store: BlobStore, workspace: WorkspaceId): Blobs => ({
  putBlobs: (blobs) => store.putBlobs(workspace, blobs),
  readBlob: (hash) => store.readBlob(workspace, hash),
  hasBlobs: (hashes) => store.hasBlobs(workspace, hashes),
});
