import type { BlobHash, LooseBlob, LooseBlobs, NewBlob } from '../core/ports/blobs.ts';
import type { QuotaRefusal } from '../core/ports/ledger.ts';
import { blobHash } from '../core/session/events/chain.ts';
import { meterBlobs } from '../stores/log/meter.ts';
import { hexOf, isSpilled, type MemoryWorkspace, putPiece } from './memory-database.ts';
import { enterLedger } from './memory-ledger.ts';

export const touch = ({ blobs, blobTimes }: MemoryWorkspace, hash: BlobHash): boolean => {
  if (!blobs.has(hash)) return false;
  blobTimes.set(hash, Date.now());
  return true;
};

export const putBlob = (workspace: MemoryWorkspace, bytes: Uint8Array): void => {
  touch(workspace, putPiece(workspace.blobs, bytes));
};

/** Puts blobs that count for quotas. Returns why a quota refuses them. */
export const putCountedBlobs = (
  workspace: MemoryWorkspace,
  blobs: readonly NewBlob[],
  member: string,
): QuotaRefusal | undefined => {
  const added = new Map(blobs.filter(({ hash }) => !workspace.countedBlobs.has(hash)).map((blob) => [blob.hash, blob]));
  const bytes = added.values().reduce((sum, blob) => sum + blob.bytes.length, 0);
  const refusal = enterLedger(workspace, meterBlobs([{ member, bytes }]));
  if (refusal) return refusal;
  for (const { bytes } of blobs) putBlob(workspace, bytes);
  for (const hash of added.keys()) workspace.countedBlobs.set(hash, member);
  return undefined;
};

const isPayload = ({ sessions }: MemoryWorkspace, hash: BlobHash): boolean =>
  sessions
    .values()
    .some(({ events }) => events.values().some(({ body }) => isSpilled(body) && hexOf(blobHash(body.bytes)) === hash));

const isLoose = (workspace: MemoryWorkspace, hash: BlobHash): boolean => !isPayload(workspace, hash);

const usedAt = ({ blobTimes }: MemoryWorkspace, hash: BlobHash): number => blobTimes.get(hash) ?? 0;

export const removeBlob = (workspace: MemoryWorkspace, hash: BlobHash, usedBefore: number): boolean => {
  if (usedAt(workspace, hash) >= usedBefore || !isLoose(workspace, hash)) return false;
  const { blobs, countedBlobs } = workspace;
  const member = countedBlobs.get(hash);
  if (member !== undefined) enterLedger(workspace, meterBlobs([{ member, bytes: -(blobs.get(hash)?.length ?? 0) }]));
  countedBlobs.delete(hash);
  return blobs.delete(hash);
};

export const looseBlobsIn = (workspace: MemoryWorkspace, { after = '', limit }: LooseBlobs): readonly LooseBlob[] =>
  [...workspace.blobs.keys()]
    .filter((hash) => hash > after && isLoose(workspace, hash))
    .sort()
    .slice(0, limit)
    .map((hash) => ({ hash, size: workspace.blobs.get(hash)!.length, usedAt: usedAt(workspace, hash) }));
