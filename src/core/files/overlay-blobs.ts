import type { Blobs, NewBlob } from '../ports/blobs.ts';

/** The same blobs, and beside them some that were made and not put. */
export const overlayBlobs = (blobs: Blobs, made: readonly NewBlob[]): Blobs => {
  const own = new Map(made.map(({ hash, bytes }) => [hash, bytes]));
  return { ...blobs, readBlob: async (hash) => own.get(hash) ?? blobs.readBlob(hash) };
};
