import { lstatSync, mkdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import type { Blobs } from '../../ports/blobs.ts';
import type { FileChange } from '../changes.ts';
import { readContent } from '../read-tree.ts';
import type { FileEntry } from '../tree.ts';
import { type HeldFolder, holdUnchanged } from './held-folder.ts';
import { isSameStamp } from './read-file.ts';
import type { Scanned, ScannedFolder } from './scan.ts';
import { Staging } from './staging.ts';
import { changedMeanwhile } from './worktree-error.ts';

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';
/** In memory, and open, at once. */
const maxFiles = 256;
const maxBytes = 16 * 1024 * 1024;
const ownerMay = 0o700;

type Placed = Extract<FileChange, { after: unknown }>;
const isPlaced = (change: FileChange): change is Placed => 'after' in change;
type FileToPlace = readonly [path: string, entry: FileEntry];

function* inPortions<T>(items: Iterable<T>, bytesOf: (item: T) => number): Generator<readonly T[]> {
  let portion: T[] = [];
  let bytes = 0;
  for (const item of items) {
    if (portion.length === maxFiles || (portion.length > 0 && bytes + bytesOf(item) > maxBytes)) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(item);
    bytes += bytesOf(item);
  }
  if (portion.length > 0) yield portion;
}

/** Makes a worktree that was scanned hold something else, once. */
export class ChangeApplier {
  readonly #root: string;
  readonly #scanned: ScannedFolder;
  /** The modes that folders are to have in the end: those that are new, change, or were lifted to work in them. */
  readonly #modes = new Map<string, number>();
  readonly #touched = new Set<string>();

  constructor(root: string, scanned: ScannedFolder) {
    this.#root = root;
    this.#scanned = scanned;
  }

  /** All content is on disk before anything is touched; then each file is replaced at once. */
  async apply(changes: readonly FileChange[], blobs: Blobs): Promise<void> {
    const staging = new Staging(this.#root);
    try {
      const staged = await this.#stage(changes.filter(isPlaced), blobs, staging);
      for (const change of changes.toReversed()) if (change.change === 'deleted') this.#delete(change);
      for (const change of changes) if (isPlaced(change)) this.#place(change, staged);
      await this.#finishFolders();
    } finally {
      staging.close();
    }
  }

  async #stage(changes: readonly Placed[], blobs: Blobs, staging: Staging): Promise<ReadonlyMap<string, string>> {
    const staged = new Map<string, string>();
    const files: FileToPlace[] = [];
    for (const { path, after } of changes) {
      if (after.kind === 'link') staged.set(path, staging.link(after.target));
      if (after.kind === 'file') files.push([path, after]);
    }
    for (const portion of inPortions(files, ([, { size }]) => size)) {
      const contents = portion.map(async ([, { hash, mode }]) => ({ bytes: await readContent(blobs, hash), mode }));
      const paths = await staging.files(await Promise.all(contents));
      for (const [index, [path]] of portion.entries()) staged.set(path, paths[index]!);
    }
    return staged;
  }

  #delete({ path, before }: Extract<FileChange, { change: 'deleted' }>): void {
    this.#inFolderOf(path, (folder, name) => {
      if (before.kind === 'folder') {
        if (removeFolder(folder.at(name))) this.#forget(path);
        return;
      }
      this.#assertAsScanned(folder.at(name), path);
      unlinkSync(folder.at(name));
    });
  }

  #place({ change, path, after }: Placed, staged: ReadonlyMap<string, string>): void {
    if (after.kind === 'folder') {
      if (change === 'created') this.#inFolderOf(path, (folder, name) => makeFolder(folder.at(name), path));
      this.#modes.set(path, after.mode);
      return;
    }
    this.#inFolderOf(path, (folder, name) => {
      if (change === 'created') assertAbsent(folder.at(name), path);
      else this.#assertAsScanned(folder.at(name), path);
      renameSync(staged.get(path)!, folder.at(name));
    });
  }

  /** What was written after the scan is in no snapshot, and must not be lost. */
  #assertAsScanned(at: string, path: string): void {
    const stats = lstatSync(at, { throwIfNoEntry: false });
    let scanned: Scanned = this.#scanned;
    for (const segment of path.split('/')) scanned = (scanned as ScannedFolder).entries.get(segment)!;
    const isAsScanned =
      scanned.kind === 'file'
        ? stats?.isFile() && stats.size === scanned.size && (!scanned.stamp || isSameStamp(scanned.stamp, stats))
        : stats?.isSymbolicLink();
    if (!isAsScanned) throw changedMeanwhile(path);
  }

  #inFolderOf(path: string, work: (folder: HeldFolder, name: string) => void): void {
    const end = path.lastIndexOf('/');
    const above = path.slice(0, Math.max(0, end));
    this.#in(above, (folder) => {
      const mode = folder.mode();
      if ((mode & ownerMay) !== ownerMay) {
        if (!this.#modes.has(above)) this.#modes.set(above, mode);
        folder.setMode(mode | ownerMay);
      }
      work(folder, path.slice(end + 1));
      this.#touched.add(above);
    });
  }

  #in(path: string, work: (folder: HeldFolder) => void): void {
    const folder = holdUnchanged(this.#root, path);
    try {
      work(folder);
    } finally {
      folder.close();
    }
  }

  /** Deepest first: a folder may close itself to its owner. What was renamed stays so after a loss of power. */
  async #finishFolders(): Promise<void> {
    const deepestFirst = [...this.#modes].sort(([a], [b]) => (a < b ? 1 : -1));
    for (const [path, mode] of deepestFirst) this.#in(path, (folder) => folder.setMode(mode));
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

/** What snapshots leave out stays, and its folder with it. */
const removeFolder = (at: string): boolean => {
  try {
    rmdirSync(at);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) return false;
    throw error;
  }
};

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
