import type { BlobHash, OldBlob, OldBlobs } from '../core/ports/blobs.ts';
import { blobHash } from '../core/session/chain.ts';
import { hexOf, isSpilled, type MemoryWorkspace, putPiece } from './memory-database.ts';

export const touch = ({ blobs, blobTimes }: MemoryWorkspace, hash: BlobHash): boolean => {
  if (!blobs.has(hash)) return false;
  blobTimes.set(hash, Date.now());
  return true;
};

export const putBlob = (workspace: MemoryWorkspace, bytes: Uint8Array): void => {
  touch(workspace, putPiece(workspace.blobs, bytes));
};

const isPayload = ({ sessions }: MemoryWorkspace, hash: BlobHash): boolean =>
  sessions
    .values()
    .some(({ events }) => events.values().some(({ body }) => isSpilled(body) && hexOf(blobHash(body.bytes)) === hash));

export const isUnused = (workspace: MemoryWorkspace, hash: BlobHash, putBefore: number): boolean =>
  (workspace.blobTimes.get(hash) ?? 0) < putBefore && !isPayload(workspace, hash);

export const oldBlobsIn = (
  workspace: MemoryWorkspace,
  { putBefore, after = '', limit }: OldBlobs,
): readonly OldBlob[] =>
  [...workspace.blobs.keys()]
    .filter((hash) => hash > after && isUnused(workspace, hash, putBefore))
    .sort()
    .slice(0, limit)
    .map((hash) => ({ hash, size: workspace.blobs.get(hash)!.length }));
