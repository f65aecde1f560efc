import type { Blobs, NewBlob } from '../ports/blobs.ts';

/** Returns the blobs of a store together with blobs that exist only in memory. */
export const overlayBlobs = (blobs: Blobs, made: readonly NewBlob[]): Blobs => {
  const own = new Map(made.map(({ hash, bytes }) => [hash, bytes]));
  return { ...blobs, readBlob: async (hash) => own.get(hash) ?? blobs.readBlob(hash) };
};
