import type { BlobHash, NewBlob } from '../ports/blobs.ts';
import { childPath } from './path.ts';
import { heldBy, type ReadTree } from './read-tree.ts';
import { blobOfTree, type FolderEntry, isSameEntry, rootEntry, type TreeEntry } from './tree.ts';

export interface Merged {
  readonly root: BlobHash;
  /** The new trees, which may not be in the store yet. */
  readonly trees: readonly NewBlob[];
  /** Paths that both sides changed differently. Our version is kept. */
  readonly conflicts: readonly string[];
}

type Entry = TreeEntry | undefined;

/** A three-way merge of trees. A change by only one side is adopted. */
export const mergeTrees = async (read: ReadTree, base: BlobHash, ours: BlobHash, theirs: BlobHash): Promise<Merged> => {
  const trees: NewBlob[] = [];
  const conflicts: string[] = [];

  const mergeEntry = async (path: string, was: Entry, our: Entry, their: Entry): Promise<Entry> => {
    if (isSameEntry(our, their) || isSameEntry(their, was)) return our;
    if (isSameEntry(our, was)) return their;
    if (our?.kind === 'folder' && their?.kind === 'folder') {
      const mode = was?.kind === 'folder' && our.mode === was.mode ? their.mode : our.mode;
      return { kind: 'folder', mode, hash: await mergeFolder(path, was, our, their) };
    }
    conflicts.push(path);
    return our;
  };

  const mergeFolder = async (path: string, was: Entry, our: TreeEntry, their: TreeEntry): Promise<BlobHash> => {
    const [old, own, other] = await Promise.all([was, our, their].map((entry) => heldBy(read, entry)));
    const merged = new Map<string, TreeEntry>();
    for (const name of new Set([...own!.keys(), ...other!.keys()])) {
      const entry = await mergeEntry(childPath(path, name), old!.get(name), own!.get(name), other!.get(name));
      if (entry) merged.set(name, entry);
    }
    const blob = blobOfTree(merged);
    trees.push(blob);
    return blob.hash;
  };

  const root = await mergeEntry('', rootEntry(base), rootEntry(ours), rootEntry(theirs));
  return { root: (root as FolderEntry).hash, trees, conflicts };
};
