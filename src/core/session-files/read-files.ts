import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { findPoint } from '../engine/points.ts';
import type { FilesAccess, LogAccess } from '../engine/scope.ts';
import { listTree, readContent, treeReader } from '../files/read-tree.ts';
import { type TreeEntry, treeOf } from '../files/tree.ts';
import type { BlobHash } from '../ports/blobs.ts';
import type { SessionKey } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { parseFilePath, parseFolderPath } from './file-path.ts';
import { entryAt, fileAt } from './find-file.ts';

/** A file, a link or a folder. The hash is that of a file's content, or of a folder's tree. */
export type ListedFile = TreeEntry & { readonly path: string };

const ReadOptions = z.strictObject({
  at: Point.optional(),
  /**
   * The seq of a `files.conflicted` event. Reads the files that were set aside by that event, instead of the files at
   * a point.
   */
  setAside: z.int().positive().optional(),
});
export type ReadOptions = z.input<typeof ReadOptions>;

export const ListOptions = ReadOptions.extend({
  /** Only this path and everything below it. */
  path: Text.optional(),
});
export type ListOptions = z.input<typeof ListOptions>;

/**
 * The maximum number of listed paths. It is limited because a few small trees that name each other repeatedly can
 * expand to any number of paths.
 */
const maxListed = 1_000_000;

const treeSetAside = async (scope: LogAccess, key: SessionKey, seq: number): Promise<BlobHash> => {
  const [stored] = await scope.store.read(key, { after: seq - 1, upTo: seq, limit: 1 });
  const event = stored && decodeEvent(key.workspace, stored);
  if (event?.type === 'files.conflicted') return event.payload.tree;
  throw new PerdureError(
    'POINT_NOT_FOUND',
    `event ${seq} of ${key.session} is not a files.conflicted event: nothing was set aside there`,
    {
      details: { session: key.session, seq },
    },
  );
};

export const treeAt = async (
  scope: LogAccess,
  key: SessionKey,
  { at, setAside }: z.infer<typeof ReadOptions>,
): Promise<BlobHash> => {
  if (at && setAside !== undefined) throw new PerdureError('INVALID_INPUT', 'set `at` or `setAside`, not both');
  if (setAside !== undefined) return treeSetAside(scope, key, setAside);
  return treeOf(at ? await scope.folds.at(key, await findPoint(scope, key, at)) : await scope.folds.outline(key));
};

/** All entries sorted by name, each folder before its content. */
export const listFiles = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  options: ListOptions = {},
): Promise<readonly ListedFile[]> => {
  const { path = '', ...where } = parseInput('the query', ListOptions, options);
  const place = parseFolderPath(path);
  const root = await treeAt(scope, key, where);
  const read = treeReader(scope.blobs);
  const top = await entryAt(read, root, place);
  const listed: ListedFile[] = place.path === '' ? [] : [{ path: place.path, ...top }];
  if (top.kind !== 'folder') return listed;
  for await (const [each, entry] of listTree(read, top.hash, place.path)) {
    listed.push({ path: each, ...entry });
    if (listed.length > maxListed) {
      throw new PerdureError('PAYLOAD_TOO_LARGE', `there are more than ${maxListed} files: name a folder`);
    }
  }
  return listed;
};

export const readFile = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  path: string,
  options: ReadOptions = {},
): Promise<Uint8Array> => {
  const where = parseInput('the query', ReadOptions, options);
  const place = parseFilePath(path);
  const root = await treeAt(scope, key, where);
  return readContent(scope.blobs, (await fileAt(treeReader(scope.blobs), root, place)).hash);
};
