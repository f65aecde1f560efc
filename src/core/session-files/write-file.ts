import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { ChangedFile } from '../../schema/state.ts';
import type { AgentAccess, FilesAccess, WriteAccess } from '../engine/scope.ts';
import { contentBytes } from '../files/content-bytes.ts';
import { ignoredInTree } from '../files/ignored-in-tree.ts';
import { findEntry, listTree, type ReadTree } from '../files/read-tree.ts';
import { type FileEntry, hashContent, isSameEntry, type TreeEntry } from '../files/tree.ts';
import { withEntry } from '../files/with-entry.ts';
import type { BlobHash } from '../ports/blobs.ts';
import type { SessionKey } from '../ports/store.ts';
import { ChangeOptions, changeFiles } from './change-files.ts';
import { type FilePath, parseFilePath } from './file-path.ts';
import { fileNotFound } from './find-file.ts';

const Hash = z.string().regex(/^[0-9a-f]{64}$/, { error: 'expected a hash from a listing or a write' });
const WriteOptions = ChangeOptions.extend({
  /** The permission bits. By default those of the existing file, or 0644. */
  mode: z.int().min(0).max(0o777).optional(),
  /**
   * The hash of the file that the writer read, or null if the file must not exist. Without it, any existing file is
   * replaced.
   */
  expect: Hash.nullable().optional(),
});
export type WriteOptions = z.input<typeof WriteOptions>;
const DeleteOptions = ChangeOptions.extend({ expect: Hash.optional() });
export type DeleteOptions = z.input<typeof DeleteOptions>;

export interface WrittenFile {
  readonly path: string;
  readonly size: number;
  readonly hash: BlobHash;
  /** The seq of the snapshot event. Absent if the file already had this content. */
  readonly seq?: number;
}

const conflict = (path: string, problem: string): PerdureError =>
  new PerdureError('CONFLICT', `${path} ${problem}`, { details: { path } });

const refuseUnexpected = (path: string, there: TreeEntry | undefined, expected: string | null | undefined): void => {
  if (expected === undefined) return;
  const hash = there && 'hash' in there ? there.hash : undefined;
  if (expected === null ? !there : hash === expected) return;
  throw new PerdureError('CONFLICT', `${path} is not what was expected: read it again`, {
    details: { path, expected, ...(hash !== undefined && { hash }) },
  });
};

const refuseNonFile = (path: string, there: TreeEntry | undefined): void => {
  if (there?.kind === 'folder') throw conflict(path, 'is a folder: choose another path, or delete it first');
  if (there?.kind === 'link') {
    throw conflict(path, `is a link to ${there.target}, and links are not followed: delete it first`);
  }
};

/** Rejects an ignored path, because the next snapshot of the worktree would leave it out again. */
const refuseIgnored = async (scope: FilesAccess, read: ReadTree, root: BlobHash, path: string): Promise<void> => {
  if (!(await ignoredInTree(root, read, scope.blobs)(path, false))) return;
  throw new PerdureError(
    'INVALID_INPUT',
    `${path} is ignored by the session's files: choose another path, or include it in .perdureignore`,
    { details: { path } },
  );
};

const placed = async (read: ReadTree, root: BlobHash, { path, segments }: FilePath, entry: TreeEntry | undefined) => {
  const edited = await withEntry(read, root, segments, entry);
  if (!edited) throw conflict(path, 'goes through a path that is not a folder: choose another path');
  return edited;
};

/** Rejects content with a secret, because the next snapshot of the worktree would silently leave it out again. */
const refuseSecret = async (scope: Pick<WriteAccess, 'secrets'>, path: string, bytes: Uint8Array): Promise<void> => {
  const redactor = await scope.secrets.redactor();
  if (redactor.bytes(bytes) === bytes && redactor.text(path) === path) return;
  throw new PerdureError(
    'INVALID_INPUT',
    `${redactor.text(path)} contains a secret of this workspace, and files are stored: let a tool that names the secret write it where it is needed`,
    { details: { path: redactor.text(path) } },
  );
};

export const writeFile = async (
  scope: WriteAccess & FilesAccess & AgentAccess,
  key: SessionKey,
  input: string,
  content: Uint8Array | string,
  options: WriteOptions = {},
): Promise<WrittenFile> => {
  const { mode, expect, ...about } = parseInput('the write', WriteOptions, options);
  const place = parseFilePath(input);
  const { path } = place;
  const bytes = contentBytes(path, content);
  await refuseSecret(scope, path, bytes);
  const hash = await hashContent(bytes);
  const body = { write: path, hash, mode, expect, why: about.why };
  const seq = await changeFiles(scope, key, { ...about, body }, async (read, root) => {
    const there = await findEntry(read, root, place.segments);
    refuseUnexpected(path, there, expect);
    refuseNonFile(path, there);
    if (!there) await refuseIgnored(scope, read, root, path);
    const kept = there?.kind === 'file' ? there.mode : 0o644;
    const entry: FileEntry = { kind: 'file', mode: mode ?? kept, size: bytes.length, hash };
    if (isSameEntry(there, entry)) return undefined;
    const { root: next, trees } = await placed(read, root, place, entry);
    const changes: readonly ChangedFile[] = [{ path, change: there ? 'modified' : 'created' }];
    return { root: next, blobs: [{ hash, bytes }, ...trees], changes };
  });
  return { path, size: bytes.length, hash, ...(seq !== undefined && { seq }) };
};

const deletions = async (read: ReadTree, path: string, there: TreeEntry): Promise<readonly ChangedFile[]> => {
  if (there.kind !== 'folder') return [{ path, change: 'deleted' }];
  const changes: ChangedFile[] = [];
  for await (const [each, { kind }] of listTree(read, there.hash, path)) {
    if (kind !== 'folder') changes.push({ path: each, change: 'deleted' });
  }
  return changes;
};

/** Deletes a file, or a folder with everything in it. */
export const deleteFile = async (
  scope: WriteAccess & FilesAccess & AgentAccess,
  key: SessionKey,
  input: string,
  options: DeleteOptions = {},
): Promise<void> => {
  const { expect, ...about } = parseInput('the deletion', DeleteOptions, options);
  const place = parseFilePath(input);
  const { path } = place;
  const body = { delete: path, expect, why: about.why };
  await changeFiles(scope, key, { ...about, body }, async (read, root) => {
    const there = await findEntry(read, root, place.segments);
    refuseUnexpected(path, there, expect);
    if (!there) throw await fileNotFound(read, root, place);
    const { root: next, trees } = await placed(read, root, place, undefined);
    return { root: next, blobs: trees, changes: await deletions(read, path, there) };
  });
};
