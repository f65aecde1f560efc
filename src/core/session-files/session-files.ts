import type { DiffPlace } from '../engine/places.ts';
import type { AgentAccess, HandleAccess, WorktreeAccess, WriteAccess } from '../engine/scope.ts';
import type { FileChange } from '../files/changes.ts';
import type { SessionKey } from '../ports/store.ts';
import { changesOfFiles, diffFiles, type FilesDiff } from './compare-files.ts';
import { type CopiedFiles, copyFiles } from './copy-files.ts';
import { type FileVersion, type HistoryOptions, historyOf } from './file-history.ts';
import { type ListedFile, type ListOptions, listFiles, type ReadOptions, readFile } from './read-files.ts';
import { type RestoredFiles, type RestoreFilesOptions, restoreFiles } from './restore-files.ts';
import { type DeleteOptions, deleteFile, type WriteOptions, type WrittenFile, writeFile } from './write-file.ts';

/**
 * The files of a session according to its log, on whichever machine its worktree is. Changes made through this handle
 * are in the worktree before the next tool of a run starts.
 */
export interface SessionFiles {
  /** The files below a folder, now or at a point. */
  list(options?: ListOptions): Promise<readonly ListedFile[]>;
  /** The content of a file, now or at a point. */
  read(path: string, options?: ReadOptions): Promise<Uint8Array>;
  /** Writes a file. With `expect`, writes only if the file was not changed meanwhile. */
  write(path: string, content: Uint8Array | string, options?: WriteOptions): Promise<WrittenFile>;
  /** Deletes a file, or a folder with everything in it. */
  delete(path: string, options?: DeleteOptions): Promise<void>;
  /** The changes between two places, with text diffs. */
  diff(from: DiffPlace, to: DiffPlace): Promise<FilesDiff>;
  /** The changes between two places, without text diffs. */
  changes(from: DiffPlace, to: DiffPlace): Promise<readonly FileChange[]>;
  /** The changes of a file, newest first, followed through its renames. */
  history(path: string, options?: HistoryOptions): Promise<readonly FileVersion[]>;
  /**
   * Restores the files of a place, of this session or another. If the session works in a person's own folder, ask that
   * person first.
   */
  restore(to: DiffPlace, options?: RestoreFilesOptions): Promise<RestoredFiles>;
  /** Copies the files into a new or empty folder of this machine, each file at its path. */
  copyTo(folder: string, options?: ListOptions): Promise<CopiedFiles>;
}

export const sessionFiles = (
  scope: WriteAccess & WorktreeAccess & AgentAccess & HandleAccess,
  key: SessionKey,
): SessionFiles =>
  scope.give<SessionFiles>('files', {
    list: (options) => listFiles(scope, key, options),
    read: (path, options) => readFile(scope, key, path, options),
    write: (path, content, options) => writeFile(scope, key, path, content, options),
    delete: (path, options) => deleteFile(scope, key, path, options),
    diff: (from, to) => diffFiles(scope, key, from, to),
    changes: (from, to) => changesOfFiles(scope, key, from, to),
    history: (path, options) => historyOf(scope, key, path, options),
    restore: (to, options) => restoreFiles(scope, key, to, options),
    copyTo: (folder, options) => copyFiles(scope, key, folder, options),
  });
