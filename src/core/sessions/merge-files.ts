import type { Json } from '../../schema/json.ts';
import { pointerOf } from '../../schema/pointer.ts';
import type { ChangedFile, PatchOperation } from '../../schema/state.ts';
import type { FilesAccess, LogAccess } from '../engine/scope.ts';
import { changedFiles } from '../files/changes.ts';
import { commonTree } from '../files/common-tree.ts';
import { mergeTrees } from '../files/merge-trees.ts';
import { overlayBlobs } from '../files/overlay-blobs.ts';
import { treeReader } from '../files/read-tree.ts';
import { treeOf } from '../files/tree.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { applyFileChanges } from '../session/state/file-entries.ts';
import type { DifferingEntry } from '../session/state/merge-entries.ts';
import { isSameJson } from '../session/state/patch-between.ts';
import type { StateDraft } from '../session/state/state-change.ts';
import type { MergeBase } from './merge-bases.ts';

export interface MergedFiles {
  readonly tree: string;
  readonly changes: readonly ChangedFile[];
  /** Paths that both sides changed differently. */
  readonly conflicts: readonly string[];
}

/** Merges the changes of a branch since the common base into the files of a session. Stores the result. */
export const mergeFiles = async (
  scope: LogAccess & FilesAccess,
  [ourKey, ours]: readonly [SessionKey, SessionFold],
  [theirKey, theirs]: readonly [SessionKey, SessionFold],
  meetings: readonly MergeBase[],
  prefer: 'ours' | 'theirs',
): Promise<MergedFiles> => {
  const [our, their] = [treeOf(ours), treeOf(theirs)];
  if (our === their) return { tree: our, changes: [], conflicts: [] };
  const met = await Promise.all(
    meetings.map(async (meeting) => {
      const [here, there] = [
        await scope.folds.at(ourKey, meeting.ours),
        await scope.folds.at(theirKey, meeting.theirs),
      ];
      return [treeOf(here), treeOf(there)] as const;
    }),
  );
  const base = await commonTree(treeReader(scope.blobs), met);
  const read = treeReader(overlayBlobs(scope.blobs, base.trees));
  const sides = prefer === 'ours' ? ([our, their] as const) : ([their, our] as const);
  const { root, trees, conflicts } = await mergeTrees(read, base.root, ...sides);
  await scope.blobs.putBlobs(trees);
  const changes = changedFiles(await scope.worktrees.changes({ before: our, after: root }, scope.blobs));
  return { tree: root, changes, conflicts };
};

const isFileEntry = ({ path }: DifferingEntry): boolean => path.startsWith(pointerOf('filesModified', ''));
const isChangedByBoth = ({ base, ours, theirs }: DifferingEntry): boolean =>
  !isSameJson(base, ours) && !isSameJson(base, theirs);

/**
 * Corrects the conflicts of state entries about files. If files were merged, the merged trees decide, and the state
 * entries follow the trees.
 */
export const settledByFiles = (
  entries: readonly DifferingEntry[],
  changes: readonly ChangedFile[],
): readonly DifferingEntry[] => {
  const taken = new Set(
    changes.flatMap(({ path, from = path }) => [path, from]).map((path) => pointerOf('filesModified', path)),
  );
  return entries.flatMap((entry): readonly DifferingEntry[] => {
    if (!isFileEntry(entry)) return [entry];
    if (taken.has(entry.path)) return entry.theirs === undefined ? [] : [{ ...entry, base: entry.ours }];
    return isChangedByBoth(entry) ? [] : [entry];
  });
};

/** Returns state entries for merged files that the entries of the branch do not cover. */
export const entriesOfFiles = (
  changes: readonly ChangedFile[],
  covered: readonly string[],
  after: number,
): readonly PatchOperation[] => {
  const known = new Set(covered);
  const rest = changes.filter(({ path }) => !known.has(pointerOf('filesModified', path)));
  const draft: Pick<StateDraft, 'filesModified'> = { filesModified: {} };
  applyFileChanges(draft, rest, { after });
  return Object.entries(draft.filesModified).map(([name, value]) => ({
    op: 'add',
    path: pointerOf('filesModified', name),
    value: value as Json,
  }));
};
