import type { BlobHash, NewBlob } from '../ports/blobs.ts';
import type { ReadTree } from './changes.ts';
import { blobOfTree, isSameEntry, type Tree, type TreeEntry } from './tree.ts';

type Entry = TreeEntry | undefined;
/** What stood at one path in each of two sessions where they met. */
type Met = readonly [ours: Entry, theirs: Entry];

const isSame = ([ours, theirs]: Met): boolean => (ours && theirs ? isSameEntry(ours, theirs) : ours === theirs);
const none: Tree = new Map();

/** Of several meetings, the newest first: each path as both had it where they last had the same. The trees that this takes are not in the store. */
export const commonTree = async (
  read: ReadTree,
  meetings: readonly (readonly [ours: BlobHash, theirs: BlobHash])[],
): Promise<{ readonly root: BlobHash; readonly trees: readonly NewBlob[] }> => {
  const trees: NewBlob[] = [];
  const treeOf = (entry: Entry): Promise<Tree> => (entry?.kind === 'folder' ? read(entry.hash) : Promise.resolve(none));

  const common = async (met: readonly Met[]): Promise<Entry> => {
    const [newest, ...older] = met;
    if (!newest || isSame(newest)) return newest?.[0];
    const [ours, theirs] = newest;
    if (ours?.kind !== 'folder' || theirs?.kind !== 'folder') return common(older);
    return { kind: 'folder', mode: ours.mode, hash: await commonFolder(met) };
  };

  const commonFolder = async (met: readonly Met[]): Promise<BlobHash> => {
    const sides = await Promise.all(met.map((each) => Promise.all(each.map(treeOf))));
    const entries = new Map<string, TreeEntry>();
    for (const name of new Set(sides.flat().flatMap((tree) => [...tree.keys()]))) {
      const entry = await common(sides.map(([ours, theirs]): Met => [ours!.get(name), theirs!.get(name)]));
      if (entry) entries.set(name, entry);
    }
    const blob = blobOfTree(entries);
    trees.push(blob);
    return blob.hash;
  };

  const folder = (hash: BlobHash): TreeEntry => ({ kind: 'folder', mode: 0, hash });
  const met = meetings.map(([ours, theirs]): Met => [folder(ours), folder(theirs)]);
  return { root: await commonFolder(met), trees };
};
