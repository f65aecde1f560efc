import type { BlobHash } from '../../ports/blobs.ts';
import type { ReadTree } from '../read-tree.ts';
import type { ScannedFolder } from './scan.ts';

const foldersOf = (folder: ScannedFolder, all = new Map<BlobHash, ScannedFolder>()): Map<BlobHash, ScannedFolder> => {
  all.set(folder.hash, folder);
  for (const entry of folder.entries.values()) if (entry.kind === 'folder') foldersOf(entry, all);
  return all;
};

/** The trees of a scan are in memory. */
export const scannedReader = (root: ScannedFolder): ReadTree => {
  const folders = foldersOf(root);
  return async (hash) => folders.get(hash)!.entries;
};
