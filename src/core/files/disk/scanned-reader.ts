import type { BlobHash } from '../../ports/blobs.ts';
import type { ReadTree } from '../read-tree.ts';
import type { ScannedFolder } from './scan.ts';

/** Reads trees from a scan in memory. A folder can be read only after its parent. */
export const scannedReader = (root: ScannedFolder): ReadTree => {
  const folders = new Map<BlobHash, ScannedFolder>([[root.hash, root]]);
  return async (hash) => {
    const { entries } = folders.get(hash)!;
    for (const entry of entries.values()) if (entry.kind === 'folder') folders.set(entry.hash, entry);
    return entries;
  };
};
