import type { Blobs, NewBlob } from '../ports/blobs.ts';

/** Adds blobs that exist only in memory to the blobs of a store. */
export const overlayBlobs = (blobs: Blobs, made: readonly NewBlob[]): Blobs => {
  const own = new Map(made.map(({ hash, bytes }) => [hash, bytes]));
  return { ...blobs, readBlob: async (hash) => own.get(hash) ?? blobs.readBlob(hash) };
};
