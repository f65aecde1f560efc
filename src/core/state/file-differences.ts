import { isPerdureError, type PerdureError } from '../../schema/error.ts';
import type { PlaceRef } from '../engine/places.ts';
import type { FilesAccess } from '../engine/scope.ts';
import type { FileChange } from '../files/changes.ts';
import type { FileDiff } from '../files/text-diff.ts';
import { treeOf } from '../files/tree.ts';
import { shorten } from '../session/context/clip.ts';
import type { Side, SideCommit } from '../session/diff/side.ts';
import { commitOfFile } from '../session/diff/side-changes.ts';

/** A file that differs, with the newest commit of each side that changed it, and what was said for it. */
export interface FileDifference {
  readonly path: string;
  readonly change: FileChange['change'];
  /** The earlier path of a renamed file. */
  readonly from?: string | undefined;
  readonly before?: SideCommit | undefined;
  readonly after?: SideCommit | undefined;
  /** The text diff in git's format, or its beginning. Present if it was requested. */
  readonly unified?: string | undefined;
}

/** Reads text diffs of the files of two places, by paths. */
export type ReadContents = (from: PlaceRef, to: PlaceRef) => Promise<readonly FileDiff[]>;

type Placed = readonly [fold: Parameters<typeof treeOf>[0], side: Side];

const isFolder = (change: FileChange): boolean =>
  ('after' in change ? change.after : change.before).kind === 'folder' && change.change !== 'mode-changed';

/** The files that differ, or why they cannot be compared. */
export interface FilesBetween {
  readonly files: readonly FileDifference[];
  readonly problem?: string | undefined;
}

const comparing = ['BLOB_NOT_FOUND', 'STORE_CORRUPT', 'PAYLOAD_TOO_LARGE'] as const;

/**
 * Returns the files that differ between two places. A folder is named only by its files. Trees that cannot be compared
 * are reported, because the rest of the diff must still be readable.
 */
export const filesBetween = async (scope: FilesAccess, from: Placed, to: Placed): Promise<FilesBetween> => {
  const trees = { before: treeOf(from[0]), after: treeOf(to[0]) };
  if (trees.before === trees.after) return { files: [] };
  try {
    return { files: differencesOf(await scope.worktrees.changes(trees, scope.blobs), from[1], to[1]) };
  } catch (error) {
    if (!comparing.some((code) => isPerdureError(error, code))) throw error;
    return { files: [], problem: (error as PerdureError).message };
  }
};

const differencesOf = (changes: readonly FileChange[], before: Side, after: Side): readonly FileDifference[] => {
  const [was, is] = [commitOfFile(before), commitOfFile(after)];
  return changes
    .filter((change) => !isFolder(change))
    .map((change) => {
      const { path } = change;
      const source = change.change === 'renamed' ? change.from : path;
      const [earlier, later] = [was(path) ?? was(source), is(path) ?? is(source)];
      return {
        path,
        change: change.change,
        ...(change.change === 'renamed' && { from: change.from }),
        ...(earlier && { before: earlier }),
        ...(later && { after: later }),
      };
    });
};

/** How much of one text diff is returned. */
const maxUnifiedChars = 20_000;

export const withContents = async (
  files: readonly FileDifference[],
  read: ReadContents,
  from: PlaceRef,
  to: PlaceRef,
): Promise<readonly FileDifference[]> => {
  const diffs = new Map((await read(from, to)).map(({ change, unified }) => [change.path, unified]));
  return files.map((file) => {
    const unified = diffs.get(file.path);
    return unified === undefined ? file : { ...file, unified: shorten(unified, maxUnifiedChars).toWellFormed() };
  });
};
