import type { ErrorData } from '../../../schema/error-data.ts';
import type { ChangedFile } from '../../../schema/state.ts';
import type { BlobHash, Blobs } from '../../ports/blobs.ts';
import type { FileChange } from '../changes.ts';
import type { FileDiff } from '../text-diff.ts';
import type { Restored, RestoreOptions } from './restore.ts';
import type { Snapshot, WorktreeOptions } from './snapshot.ts';

/** Where the last scan of the worktree is kept: beside it, not in it. Without it nothing is kept, as for a folder that is worked on once. */
export interface Cached {
  readonly cacheFile?: string | undefined;
}

/** Two trees to compare. */
export interface Compared {
  readonly before: BlobHash;
  readonly after: BlobHash;
}

export interface SnapshotWithChanges extends Snapshot {
  /** Since the base. */
  readonly changes: readonly ChangedFile[];
}

export interface RestoredWorktree extends Omit<Restored, 'changes'> {
  /** Files and links. */
  readonly changed: number;
}

/** What the thread can be asked to do. */
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

/** A task, the answer to what the thread asked of the store, or the wish that it ends. */
export type ToFilesThread =
  | { readonly task: number; readonly name: TaskName; readonly options: unknown }
  | ({ readonly answer: number } & Settled)
  | { readonly end: true };

/** How a task ended, or what it wants of its store. Long lists hold the other side up less as JSON than as values. */
export type FromFilesThread =
  | { readonly task: number; readonly json: string }
  | { readonly task: number; readonly error: ErrorData }
  | { readonly ask: number; readonly of: number; readonly method: keyof Blobs; readonly argument: unknown };
