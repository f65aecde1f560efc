import type { BlobHash, LooseBlob, LooseBlobs } from '../core/ports/blobs.ts';
import { blobHash } from '../core/session/events/chain.ts';
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

const isLoose = (workspace: MemoryWorkspace, hash: BlobHash): boolean => !isPayload(workspace, hash);

const usedAt = ({ blobTimes }: MemoryWorkspace, hash: BlobHash): number => blobTimes.get(hash) ?? 0;

export const removeBlob = (workspace: MemoryWorkspace, hash: BlobHash, usedBefore: number): boolean =>
  usedAt(workspace, hash) < usedBefore && isLoose(workspace, hash) && workspace.blobs.delete(hash);

export const looseBlobsIn = (workspace: MemoryWorkspace, { after = '', limit }: LooseBlobs): readonly LooseBlob[] =>
  [...workspace.blobs.keys()]
    .filter((hash) => hash > after && isLoose(workspace, hash))
    .sort()
    .slice(0, limit)
    .map((hash) => ({ hash, size: workspace.blobs.get(hash)!.length, usedAt: usedAt(workspace, hash) }));
