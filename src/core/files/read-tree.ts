import { PerdureError } from '../../schema/error.ts';
import type { BlobHash, Blobs } from '../ports/blobs.ts';
import { childPath } from './path.ts';
import { decodeTree, emptyTree, hashContent, rootEntry, type Tree, type TreeEntry } from './tree.ts';

export type ReadTree = (hash: BlobHash) => Promise<Tree>;

/** Reads a blob and verifies its hash. */
export const readContent = async (blobs: Blobs, hash: BlobHash): Promise<Uint8Array> => {
  const bytes = await blobs.readBlob(hash);
  if (!bytes) throw new PerdureError('BLOB_NOT_FOUND', `the blob ${hash} is not in the store`, { details: { hash } });
  if ((await hashContent(bytes)) !== hash) {
    throw new PerdureError('STORE_CORRUPT', `the blob ${hash} is damaged: restore the store from a backup`, {
      details: { hash },
    });
  }
  return bytes;
};

/** Returns a function that reads trees. It caches them, so that each tree is read once. */
export const treeReader = (blobs: Blobs): ReadTree => {
  const read = new Map<BlobHash, Promise<Tree>>([[emptyTree.hash, Promise.resolve(new Map())]]);
  return (hash) => {
    const known = read.get(hash);
    if (known) return known;
    const tree = readContent(blobs, hash).then(decodeTree);
    read.set(hash, tree);
    return tree;
  };
};

const nothing: Tree = new Map();

/** Returns the content of a folder, or an empty tree for any other entry. */
export const heldBy = async (read: ReadTree, entry: TreeEntry | undefined): Promise<Tree> =>
  entry?.kind === 'folder' ? read(entry.hash) : nothing;

/** Returns the entry at a path of a tree. Returns undefined if there is none. */
export const findEntry = async (
  read: ReadTree,
  root: BlobHash,
  segments: readonly string[],
): Promise<TreeEntry | undefined> => {
  let entry: TreeEntry | undefined = rootEntry(root);
  for (const segment of segments) {
    if (entry?.kind !== 'folder') return undefined;
    entry = (await read(entry.hash)).get(segment);
  }
  return entry;
};

/** Yields every entry below a tree with its path, each folder before its content. */
export async function* listTree(read: ReadTree, root: BlobHash, path = ''): AsyncGenerator<[string, TreeEntry]> {
  for (const [name, entry] of await read(root)) {
    const at = childPath(path, name);
    yield [at, entry];
    if (entry.kind === 'folder') yield* listTree(read, entry.hash, at);
  }
}
