import type { BlobHash, NewBlob } from '../ports/blobs.ts';
import type { ReadTree } from './read-tree.ts';
import { blobOfTree, emptyTree, type TreeEntry } from './tree.ts';

/**
 * Sets or removes one entry of a tree and creates missing folders. Returns undefined if a file or link blocks the
 * path.
 */
export const withEntry = async (
  read: ReadTree,
  root: BlobHash,
  [name, ...rest]: readonly string[],
  entry: TreeEntry | undefined,
): Promise<{ readonly root: BlobHash; readonly trees: readonly NewBlob[] } | undefined> => {
  const tree = new Map(await read(root));
  const there = tree.get(name!);
  let trees: readonly NewBlob[] = [];
  let placed = entry;
  if (rest.length > 0) {
    if (there && there.kind !== 'folder') return undefined;
    const below = await withEntry(read, there?.hash ?? emptyTree.hash, rest, entry);
    if (!below) return undefined;
    trees = below.trees;
    placed = { kind: 'folder', mode: there?.mode ?? 0o755, hash: below.root };
  }
  if (placed) tree.set(name!, placed);
  else tree.delete(name!);
  const blob = blobOfTree(tree);
  return { root: blob.hash, trees: [...trees, blob] };
};
