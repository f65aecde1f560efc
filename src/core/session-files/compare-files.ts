import { type DiffPlace, foldAtPlace, type PlaceRef } from '../engine/places.ts';
import type { FilesAccess, LogAccess } from '../engine/scope.ts';
import type { FileChange } from '../files/changes.ts';
import type { FileDiff } from '../files/text-diff.ts';
import { treeOf } from '../files/tree.ts';
import type { SessionKey } from '../ports/store.ts';

export interface FilesDiff {
  readonly from: PlaceRef;
  readonly to: PlaceRef;
  readonly files: readonly FileDiff[];
  /** All of them as git writes them. */
  readonly unified: string;
}

const treesAt = async (scope: LogAccess, key: SessionKey, a: DiffPlace, b: DiffPlace) => {
  const [from, to] = await Promise.all([foldAtPlace(scope, key, a), foldAtPlace(scope, key, b)]);
  return { from: from.place, to: to.place, trees: { before: treeOf(from.fold), after: treeOf(to.fold) } };
};

export const changesOfFiles = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  a: DiffPlace,
  b: DiffPlace,
): Promise<readonly FileChange[]> => {
  const { trees } = await treesAt(scope, key, a, b);
  return scope.worktrees.changes(trees, scope.blobs);
};

export const diffFiles = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  a: DiffPlace,
  b: DiffPlace,
): Promise<FilesDiff> => {
  const { from, to, trees } = await treesAt(scope, key, a, b);
  const files = await scope.worktrees.diff(trees, scope.blobs);
  return { from, to, files, unified: files.map(({ unified }) => unified).join('') };
};
