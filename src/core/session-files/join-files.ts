import type { PayloadOf } from '../../schema/event.ts';
import type { FilesAccess } from '../engine/scope.ts';
import { changedFiles } from '../files/changes.ts';
import { mergeTrees } from '../files/merge-trees.ts';
import { treeReader } from '../files/read-tree.ts';
import type { BlobHash } from '../ports/blobs.ts';
import type { NewFiles } from '../session/decide-files.ts';

type Conflicted = PayloadOf<'files.conflicted'>;

export interface JoinedFiles extends Pick<NewFiles, 'tree' | 'changes'> {
  readonly conflicts: Conflicted | undefined;
}

const maxShown = 100;

/** Returns the payload that records conflicts. Returns undefined if there are no conflicts. */
export const conflicted = (tree: BlobHash, paths: readonly string[]): Conflicted | undefined =>
  paths.length === 0 ? undefined : { tree, paths: paths.slice(0, maxShown), conflicts: paths.length };

interface Joining {
  readonly base: BlobHash;
  readonly ours: BlobHash;
  readonly theirs: BlobHash;
  /** The session's current tree. The resulting `changes` are relative to it. */
  readonly on: BlobHash;
}

/**
 * Merges two trees with a common base, and stores the result. If both trees changed a path, `ours` wins, and
 * `conflicts` names the path and the tree `theirs`.
 */
export const joinFiles = async (
  { blobs, worktrees }: FilesAccess,
  { base, ours, theirs, on }: Joining,
): Promise<JoinedFiles> => {
  const { root: tree, trees, conflicts } = await mergeTrees(treeReader(blobs), base, ours, theirs);
  await blobs.putBlobs(trees);
  const changes = changedFiles(await worktrees.changes({ before: on, after: tree }, blobs));
  return { tree, changes, conflicts: conflicted(theirs, conflicts) };
};
