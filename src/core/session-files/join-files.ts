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

/** Undefined when there are none. */
export const conflicted = (tree: BlobHash, paths: readonly string[]): Conflicted | undefined =>
  paths.length === 0 ? undefined : { tree, paths: paths.slice(0, maxShown), conflicts: paths.length };

interface Joining {
  readonly base: BlobHash;
  readonly ours: BlobHash;
  readonly theirs: BlobHash;
  /** What the session's files are: changes are told from there. */
  readonly on: BlobHash;
}

/** Two trees that come from one, as one that is in the store. Where both changed a path, ours stays and theirs is named. */
export const joinFiles = async (
  { blobs, worktrees }: FilesAccess,
  { base, ours, theirs, on }: Joining,
): Promise<JoinedFiles> => {
  const { root: tree, trees, conflicts } = await mergeTrees(treeReader(blobs), base, ours, theirs);
  await blobs.putBlobs(trees);
  const changes = changedFiles(await worktrees.changes({ before: on, after: tree }, blobs));
  return { tree, changes, conflicts: conflicted(theirs, conflicts) };
};
