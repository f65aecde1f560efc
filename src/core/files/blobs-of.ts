import type { WorkspaceId } from '../../schema/ids.ts';
import type { BlobStore, Blobs } from '../ports/blobs.ts';

/** The blobs of a store as one workspace sees them. Those that are put count for `member`. */
export const blobsOf = (store: BlobStore, workspace: WorkspaceId, member?: string): Blobs => ({
  putBlobs: (blobs) => store.putBlobs(workspace, blobs, member),
  readBlob: (hash) => store.readBlob(workspace, hash),
  hasBlobs: (hashes) => store.hasBlobs(workspace, hashes),
});
