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

/** The files of a session as its log tells them, wherever its worktree is. What is written here, the next tool of a run finds in the worktree. */
export interface SessionFiles {
  /** The files below a folder, now or at a point. */
  list(options?: ListOptions): Promise<readonly ListedFile[]>;
  /** The content of a file, now or at a point. */
  read(path: string, options?: ReadOptions): Promise<Uint8Array>;
  /** Writes a file; with `expect`, only where nobody else has written it meanwhile. */
  write(path: string, content: Uint8Array | string, options?: WriteOptions): Promise<WrittenFile>;
  /** Deletes a file; a folder goes with all that it holds. */
  delete(path: string, options?: DeleteOptions): Promise<void>;
  /** What leads from one place to another, with the texts. */
  diff(from: DiffPlace, to: DiffPlace): Promise<FilesDiff>;
  /** The same without the texts. */
  changes(from: DiffPlace, to: DiffPlace): Promise<readonly FileChange[]>;
  /** What became of a file, newest first, under the names that it had. */
  history(path: string, options?: HistoryOptions): Promise<readonly FileVersion[]>;
  /** The files become those of a place, of this session or another. Where it works in a person's own folder, ask that person first. */
  restore(to: DiffPlace, options?: RestoreFilesOptions): Promise<RestoredFiles>;
  /** Writes them into a new or empty folder of this machine, each at its path. */
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
