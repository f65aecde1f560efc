import type { BlobHash, NewBlob } from '../ports/blobs.ts';
import { heldBy, type ReadTree } from './read-tree.ts';
import { blobOfTree, isSameEntry, rootEntry, type TreeEntry } from './tree.ts';

type Entry = TreeEntry | undefined;
/** The entries at one path in two sessions, at a point where they were merged. */
type Met = readonly [ours: Entry, theirs: Entry];

/**
 * Builds the common base of two sessions from their merge points, newest first: each path has the last entry that was
 * equal in both sessions. The new trees are returned, not stored.
 */
export const commonTree = async (
  read: ReadTree,
  meetings: readonly (readonly [ours: BlobHash, theirs: BlobHash])[],
): Promise<{ readonly root: BlobHash; readonly trees: readonly NewBlob[] }> => {
  const trees: NewBlob[] = [];

  const common = async (met: readonly Met[]): Promise<Entry> => {
    const [newest, ...older] = met;
    if (!newest || isSameEntry(...newest)) return newest?.[0];
    const [ours, theirs] = newest;
    if (ours?.kind !== 'folder' || theirs?.kind !== 'folder') return common(older);
    return { kind: 'folder', mode: ours.mode, hash: await commonFolder(met) };
  };

  const commonFolder = async (met: readonly Met[]): Promise<BlobHash> => {
    const sides = await Promise.all(met.map((each) => Promise.all(each.map((entry) => heldBy(read, entry)))));
    const entries = new Map<string, TreeEntry>();
    for (const name of new Set(sides.flat().flatMap((tree) => [...tree.keys()]))) {
      const entry = await common(sides.map(([ours, theirs]): Met => [ours!.get(name), theirs!.get(name)]));
      if (entry) entries.set(name, entry);
    }
    const blob = blobOfTree(entries);
    trees.push(blob);
    return blob.hash;
  };

  const met = meetings.map(([ours, theirs]): Met => [rootEntry(ours), rootEntry(theirs)]);
  return { root: await commonFolder(met), trees };
};
