import type { ErrorData } from '../../../schema/error-data.ts';
import type { ChangedFile } from '../../../schema/state.ts';
import type { BlobHash, Blobs } from '../../ports/blobs.ts';
import type { FileChange } from '../changes.ts';
import type { FileDiff } from '../text-diff.ts';
import type { Restored, RestoreOptions } from './restore.ts';
import type { Snapshot, WorktreeOptions } from './snapshot.ts';

/**
 * The file that caches the last scan, beside the worktree and not in it. Absent for a folder that is used only once.
 */
export interface Cached {
  readonly cacheFile?: string | undefined;
}

export interface Compared {
  readonly before: BlobHash;
  readonly after: BlobHash;
}

export interface SnapshotWithChanges extends Snapshot {
  /** The changes since the base. */
  readonly changes: readonly ChangedFile[];
}

export interface RestoredWorktree extends Omit<Restored, 'changes'> {
  /** The number of changed files and links. */
  readonly changed: number;
}

/** The tasks that the files thread can execute. */
export interface FileTasks {
  snapshot(options: WorktreeOptions & Cached): SnapshotWithChanges;
  restore(options: RestoreOptions & Cached): RestoredWorktree;
  changes(options: Compared): readonly FileChange[];
  diff(options: Compared): readonly FileDiff[];
}

export type TaskName = keyof FileTasks;
export type OptionsOf<Name extends TaskName> = Parameters<FileTasks[Name]>[0];
export type ResultOf<Name extends TaskName> = ReturnType<FileTasks[Name]>;

export type Settled = { readonly value: unknown } | { readonly error: ErrorData };

/** A message to the thread: a task, the store's answer to a request of the thread, or the request to end. */
export type ToFilesThread =
  | { readonly task: number; readonly name: TaskName; readonly options: unknown }
  | ({ readonly answer: number } & Settled)
  | { readonly end: true };

/**
 * A message from the thread: the end of a task, or its request to the store. Results are JSON text, because parsing
 * JSON blocks the receiver less than cloning long lists.
 */
export type FromFilesThread =
  | { readonly task: number; readonly json: string }
  | { readonly task: number; readonly error: ErrorData }
  | { readonly ask: number; readonly of: number; readonly method: keyof Blobs; readonly argument: unknown };
