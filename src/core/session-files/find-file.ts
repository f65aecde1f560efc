import { PerdureError } from '../../schema/error.ts';
import { findEntry, type ReadTree } from '../files/read-tree.ts';
import type { TreeEntry } from '../files/tree.ts';
import type { BlobHash } from '../ports/blobs.ts';
import type { FilePath } from './file-path.ts';

const maxNearby = 10;

const sharedStart = (a: string, b: string): number => {
  let place = 0;
  while (place < a.length && a[place]?.toLowerCase() === b[place]?.toLowerCase()) place += 1;
  return place;
};

/**
 * Suggestions for a path that does not exist. These are the entries of the deepest existing folder, similar names
 * first, or the file or link that blocks the path.
 */
const nearby = async (read: ReadTree, root: BlobHash, { segments }: FilePath) => {
  for (let depth = segments.length - 1; ; depth--) {
    const above = segments.slice(0, depth);
    const entry = await findEntry(read, root, above);
    if (entry && entry.kind !== 'folder') return { blocking: { path: above.join('/'), entry }, paths: [] };
    if (entry) {
      const wanted = segments[depth]!;
      const names = [...(await read(entry.hash)).keys()];
      const alike = names.toSorted((a, b) => sharedStart(b, wanted) - sharedStart(a, wanted));
      return { paths: alike.slice(0, maxNearby).map((name) => [...above, name].join('/')) };
    }
  }
};

const kindText = (entry: TreeEntry): string =>
  entry.kind === 'link' ? `a link to ${entry.target}, and links are not followed` : `a ${entry.kind}`;

export const fileNotFound = async (read: ReadTree, root: BlobHash, place: FilePath): Promise<PerdureError> => {
  const { path } = place;
  const { blocking, paths } = await nearby(read, root, place);
  const why = blocking
    ? `${blocking.path} is ${kindText(blocking.entry)}`
    : paths.length > 0
      ? `nearby are ${paths.slice(0, 5).join(', ')}`
      : 'there are no files';
  return new PerdureError('FILE_NOT_FOUND', `there is no ${path}: ${why}`, { details: { path, nearby: paths } });
};

/** The entry at a path, of any kind. */
export const entryAt = async (read: ReadTree, root: BlobHash, place: FilePath): Promise<TreeEntry> => {
  const entry = await findEntry(read, root, place.segments);
  if (!entry) throw await fileNotFound(read, root, place);
  return entry;
};

export const fileAt = async (read: ReadTree, root: BlobHash, place: FilePath) => {
  const entry = await entryAt(read, root, place);
  if (entry.kind === 'file') return entry;
  throw new PerdureError('FILE_NOT_FOUND', `${place.path} is not a file but ${kindText(entry)}`, {
    details: { path: place.path, kind: entry.kind, ...(entry.kind === 'link' && { target: entry.target }) },
  });
};
