import { lstatSync, mkdirSync, renameSync, unlinkSync } from 'node:fs';
import { type FileChange, isPlaced, type PlacedChange } from '../changes.ts';
import { type HeldFolder, holdUnchanged, inHeld } from './held-folder.ts';
import { inPortions } from './in-portions.ts';
import { isSameStamp, readLink } from './read-file.ts';
import { removeEmpty } from './remove-empty.ts';
import type { Scanned, ScannedFolder } from './scan.ts';
import type { Staging } from './staging.ts';
import { changedMeanwhile } from './worktree-error.ts';

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';
const ownerMay = 0o700;

/** Applies changes to a scanned worktree. Each instance is used once. */
export class ChangeApplier {
  readonly #root: string;
  readonly #scanned: ScannedFolder;
  readonly #staging: Staging;
  /** The final modes of folders that are created, that change, or that were temporarily made writable. */
  readonly #modes = new Map<string, number>();
  readonly #touched = new Set<string>();

  constructor(root: string, scanned: ScannedFolder, staging: Staging) {
    this.#root = root;
    this.#scanned = scanned;
    this.#staging = staging;
  }

  /** Applies the changes. All content must already be staged on disk. Each file is replaced atomically. */
  async apply(changes: readonly FileChange[]): Promise<void> {
    for (const change of changes.toReversed()) if (change.change === 'deleted') this.#delete(change);
    for (const change of changes) if (isPlaced(change)) this.#place(change);
    await this.#finishFolders();
  }

  #delete({ path, before }: Extract<FileChange, { change: 'deleted' }>): void {
    this.#inFolderOf(path, (folder, name) => {
      if (before.kind === 'folder') {
        // A folder that still contains left-out files is not removed.
        if (removeEmpty(folder.at(name))) this.#forget(path);
        return;
      }
      this.#assertAsScanned(folder.at(name), path);
      unlinkSync(folder.at(name));
    });
  }

  #place({ change, path, after }: PlacedChange): void {
    if (after.kind === 'folder') {
      if (change === 'created') this.#inFolderOf(path, (folder, name) => makeFolder(folder.at(name), path));
      this.#modes.set(path, after.mode);
      return;
    }
    this.#inFolderOf(path, (folder, name) => {
      if (change === 'created') assertAbsent(folder.at(name), path);
      else this.#assertAsScanned(folder.at(name), path);
      renameSync(this.#staging.at(path), folder.at(name));
    });
  }

  /**
   * Fails if a path changed since the scan. Content that was written after the scan is in no snapshot and must not be
   * lost.
   */
  #assertAsScanned(at: string, path: string): void {
    const stats = lstatSync(at, { throwIfNoEntry: false });
    let scanned: Scanned = this.#scanned;
    for (const segment of path.split('/')) scanned = (scanned as ScannedFolder).entries.get(segment)!;
    const isAsScanned =
      scanned.kind === 'file'
        ? stats?.isFile() && stats.size === scanned.size && (!scanned.stamp || isSameStamp(scanned.stamp, stats))
        : stats?.isSymbolicLink() && scanned.kind === 'link' && readLink(at) === scanned.target;
    if (!isAsScanned) throw changedMeanwhile(path);
  }

  #inFolderOf(path: string, work: (folder: HeldFolder, name: string) => void): void {
    const end = path.lastIndexOf('/');
    const above = path.slice(0, Math.max(0, end));
    inHeld(this.#root, above, (folder) => {
      const mode = folder.mode();
      if ((mode & ownerMay) !== ownerMay) {
        if (!this.#modes.has(above)) this.#modes.set(above, mode);
        folder.setMode(mode | ownerMay);
      }
      work(folder, path.slice(end + 1));
      this.#touched.add(above);
    });
  }

  /**
   * Sets the modes of folders, deepest first, because the final mode of a folder may deny access even to its owner.
   * Syncs folders, so that renames survive a power loss.
   */
  async #finishFolders(): Promise<void> {
    const deepestFirst = [...this.#modes].sort(([a], [b]) => (a < b ? 1 : -1));
    for (const [path, mode] of deepestFirst) inHeld(this.#root, path, (folder) => folder.setMode(mode));
    for (const portion of inPortions(this.#touched, () => 0)) {
      const held = portion.map((path) => holdUnchanged(this.#root, path));
      try {
        await Promise.all(held.map((folder) => folder.sync()));
      } finally {
        for (const folder of held) folder.close();
      }
    }
  }

  #forget(path: string): void {
    this.#touched.delete(path);
    this.#modes.delete(path);
  }
}

const makeFolder = (at: string, path: string): void => {
  try {
    mkdirSync(at, ownerMay);
  } catch (error) {
    throw codeOf(error) === 'EEXIST' ? changedMeanwhile(path, error) : error;
  }
};

const assertAbsent = (at: string, path: string): void => {
  if (lstatSync(at, { throwIfNoEntry: false })) throw changedMeanwhile(path);
};
