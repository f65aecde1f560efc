import { z } from 'zod';
import { listOf } from '../../schema/bounded.ts';
import { PerdureError } from '../../schema/error.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { type DiffPlace, foldAtPlace, type PlaceRef } from '../engine/places.ts';
import type { AgentAccess, FilesAccess, WorktreeAccess, WriteAccess } from '../engine/scope.ts';
import { changedFiles, type FileChange } from '../files/changes.ts';
import { overlayBlobs } from '../files/overlay-blobs.ts';
import { findEntry, treeReader } from '../files/read-tree.ts';
import { isSameEntry, treeOf } from '../files/tree.ts';
import { withEntry } from '../files/with-entry.ts';
import type { BlobHash, NewBlob } from '../ports/blobs.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { allContributors } from '../session/runs/contributors.ts';
import { bringBoundFolder } from './bring-bound-folder.ts';
import { ChangeOptions, changeFiles, type FilesEdit } from './change-files.ts';
import { type FilePath, parseFilePath } from './file-path.ts';
import { fileNotFound } from './find-file.ts';

const Options = ChangeOptions.extend({
  /** Only these paths and everything below them. */
  paths: listOf(Text, { min: 1, max: 1000 }).readonly().optional(),
  /** Only reports what would change. */
  dryRun: z.boolean().default(false),
});
export type RestoreFilesOptions = z.input<typeof Options>;

export interface RestoredFiles {
  /** The place whose files were restored. */
  readonly of: PlaceRef;
  readonly changes: readonly FileChange[];
  /** The person's own folder that the session works in, where the changes will be made. */
  readonly boundTo?: SessionFold['boundTo'];
  /** The seq of the snapshot event. Absent in a dry run, and if nothing changed. */
  readonly seq?: number;
}

interface Made {
  readonly root: BlobHash;
  readonly trees: readonly NewBlob[];
}

/** Returns a tree in which some paths are replaced by those of another tree. */
const withPathsOf = async (
  scope: FilesAccess,
  root: BlobHash,
  wanted: BlobHash,
  paths: readonly FilePath[],
): Promise<Made> => {
  let made: Made = { root, trees: [] };
  for (const place of paths) {
    const read = treeReader(overlayBlobs(scope.blobs, made.trees));
    const [now, then] = [
      await findEntry(read, made.root, place.segments),
      await findEntry(read, wanted, place.segments),
    ];
    if (!now && !then) throw await fileNotFound(read, wanted, place);
    if (isSameEntry(now, then)) continue;
    const edited = await withEntry(read, made.root, place.segments, then);
    if (!edited) {
      throw new PerdureError(
        'CONFLICT',
        `${place.path} goes through a path that is not a folder now: restore that path too`,
        {
          details: { path: place.path },
        },
      );
    }
    made = { root: edited.root, trees: [...made.trees, ...edited.trees] };
  }
  return made;
};

/**
 * Restores the files of a place, or reports what would change. Records a person's changes in their own folder before
 * changing it.
 */
export const restoreFiles = async (
  scope: WriteAccess & WorktreeAccess & AgentAccess,
  key: SessionKey,
  to: DiffPlace,
  options: RestoreFilesOptions = {},
): Promise<RestoredFiles> => {
  const { paths: given, dryRun, ...about } = parseInput('the restore', Options, options);
  const paths = given?.map(parseFilePath);
  const { place, fold: target } = await foldAtPlace(scope, key, to);
  const wanted = treeOf(target);
  let result: Pick<RestoredFiles, 'changes' | 'boundTo'> = { changes: [] };
  const edit = async (root: BlobHash, { boundTo }: SessionFold): Promise<FilesEdit> => {
    const made = paths ? await withPathsOf(scope, root, wanted, paths) : { root: wanted, trees: [] };
    const compared = { before: root, after: made.root };
    const changes = await scope.worktrees.changes(compared, overlayBlobs(scope.blobs, made.trees));
    result = { changes, ...(boundTo && { boundTo }) };
    return { root: made.root, blobs: made.trees, changes: changedFiles(changes) };
  };
  if (dryRun) {
    const head = await scope.folds.head(key);
    await edit(treeOf(head), head);
    return { of: place, ...result };
  }
  await bringBoundFolder(scope, key);
  const body = { restore: to, paths: paths?.map(({ path }) => path), why: about.why };
  const origin = { kind: 'restore', ...place } as const;
  const isForeign = target.session !== key.session;
  const contributors = isForeign ? allContributors(target.contributors) : undefined;
  const from = { origin, contributors, restores: target };
  const seq = await changeFiles(scope, key, { ...about, ...from, body }, (_, root, fold) => edit(root, fold));
  if (seq !== undefined) await bringBoundFolder(scope, key);
  return { of: place, ...result, ...(seq !== undefined && { seq }) };
};
