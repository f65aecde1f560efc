import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { FilesAccess, LogAccess } from '../engine/scope.ts';
import { overlayBlobs } from '../files/overlay-blobs.ts';
import { treeReader } from '../files/read-tree.ts';
import { emptyTree } from '../files/tree.ts';
import { withEntry } from '../files/with-entry.ts';
import { fileProblem } from '../host/file-problem.ts';
import { makeFolder } from '../host/make-folder.ts';
import type { BlobHash, Blobs, NewBlob } from '../ports/blobs.ts';
import type { SessionKey } from '../ports/store.ts';
import { parseFilePath } from './file-path.ts';
import { entryAt } from './find-file.ts';
import { ListOptions, treeAt } from './read-files.ts';

export interface CopiedFiles {
  readonly folder: string;
  /** The number of files and links. */
  readonly files: number;
}

const unavailable = (folder: string, problem: string, cause?: unknown): PerdureError =>
  new PerdureError('FILE_UNAVAILABLE', `${folder} ${problem}: name a new or empty folder`, {
    details: { folder },
    cause,
  });

const makeEmpty = async (folder: string): Promise<void> => {
  try {
    await makeFolder(folder);
    if ((await readdir(folder)).length === 0) return;
  } catch (cause) {
    throw unavailable(folder, `cannot be made (${fileProblem(cause)})`, cause);
  }
  throw unavailable(folder, 'is not empty');
};

/**
 * Blobs that make the restore fail if the folder is no longer empty. Otherwise its content would be replaced without a
 * copy in the store.
 */
const holdingNothing = (folder: string): Pick<Blobs, 'putBlobs' | 'hasBlobs'> => ({
  hasBlobs: async () => new Set(),
  putBlobs: async (blobs) => {
    if (blobs.some(({ hash }) => hash !== emptyTree.hash)) throw unavailable(folder, 'is not empty');
  },
});

interface Part {
  readonly root: BlobHash;
  readonly trees: readonly NewBlob[];
}

/** Returns a tree that holds only the entry at a path, at that same path. */
const partOf = async (scope: FilesAccess, root: BlobHash, path: string | undefined): Promise<Part> => {
  if (path === undefined) return { root, trees: [] };
  const place = parseFilePath(path);
  const read = treeReader(scope.blobs);
  return (await withEntry(read, emptyTree.hash, place.segments, await entryAt(read, root, place)))!;
};

/** Writes the files of a point, or only those at a path, into a new or empty folder. Does not change the store. */
export const copyFiles = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  to: string,
  options: ListOptions = {},
): Promise<CopiedFiles> => {
  const { path, ...where } = parseInput('the query', ListOptions, options);
  const folder = resolve(parseInput('the folder', z.string().min(1), to));
  const { root, trees } = await partOf(scope, await treeAt(scope, key, where), path);
  await makeEmpty(folder);
  const blobs = { ...overlayBlobs(scope.blobs, trees), ...holdingNothing(folder) };
  const { changed } = await scope.worktrees.restore({ folder, root }, blobs);
  return { folder, files: changed };
};
