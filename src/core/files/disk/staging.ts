import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Blobs } from '../../ports/blobs.ts';
import type { PlacedChange } from '../changes.ts';
import { ownFolder } from '../path.ts';
import { readContent } from '../read-tree.ts';
import { type FileEntry, isSameEntry, type LinkEntry } from '../tree.ts';
import { type HeldFolder, holdUnchanged, inHeld } from './held-folder.ts';
import { inPortions } from './in-portions.ts';
import { removeEmpty } from './remove-empty.ts';

interface Staged {
  readonly entry: FileEntry | LinkEntry;
  readonly at: string;
}
type FileToStage = readonly [path: string, entry: FileEntry];

const synced = promisify(fsync);
const name = 'restore';
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

const makeFolder = (path: string): void => {
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
};

/**
 * The staging area of a restore. It is in the runtime's own folder, on the same disk, and is never part of a snapshot.
 * The next restore removes files that a crash left there, even if it has nothing else to do.
 */
export class Staging {
  readonly #root: string;
  readonly #blobs: Blobs;
  /** Staged files, by their target path. */
  readonly #staged = new Map<string, Staged>();
  #opened: HeldFolder | undefined;
  #count = 0;

  constructor(root: string, blobs: Blobs) {
    this.#root = root;
    this.#blobs = blobs;
  }

  /** Whether the runtime's own folder exists or can be created. */
  hasRoom(): boolean {
    return lstatSync(join(this.#root, ownFolder), { throwIfNoEntry: false })?.isDirectory() ?? true;
  }

  /**
   * Stages the new files and links. They are durable when it returns. Entries that are already staged are not written
   * again.
   */
  async add(changes: readonly PlacedChange[]): Promise<void> {
    const files: FileToStage[] = [];
    for (const { path, after } of changes) {
      if (after.kind === 'folder' || isSameEntry(this.#staged.get(path)?.entry, after)) continue;
      if (after.kind === 'file') files.push([path, after]);
      else this.#addLink(path, after);
    }
    for (const portion of inPortions(files, ([, { size }]) => size)) await this.#addFiles(portion);
  }

  /** The staged file for a target path. */
  at(path: string): string {
    return this.#staged.get(path)!.at;
  }

  close(): void {
    this.#opened?.close();
    if (!existsSync(join(this.#root, ownFolder, name))) return;
    inHeld(this.#root, ownFolder, (own) => rmSync(own.at(name), { recursive: true, force: true }));
    inHeld(this.#root, '', (worktree) => removeEmpty(worktree.at(ownFolder)));
  }

  /** Syncs files in parallel, because syncing many files takes little longer than syncing one. */
  async #addFiles(files: readonly FileToStage[]): Promise<void> {
    const contents = await Promise.all(files.map(([, { hash }]) => readContent(this.#blobs, hash)));
    const opened: number[] = [];
    try {
      const staged = files.map(([path, entry], index): [string, Staged] => {
        const [at, bytes] = [this.#nextPath(), contents[index]!];
        const file = openSync(at, flags, 0o600);
        opened.push(file);
        for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
        fchmodSync(file, entry.mode);
        return [path, { entry, at }];
      });
      await Promise.all(opened.map((file) => synced(file)));
      for (const [path, each] of staged) this.#staged.set(path, each);
    } finally {
      for (const file of opened) closeSync(file);
    }
  }

  #addLink(path: string, entry: LinkEntry): void {
    const at = this.#nextPath();
    symlinkSync(entry.target, at);
    this.#staged.set(path, { entry, at });
  }

  #nextPath(): string {
    this.#opened ??= this.#open();
    return this.#opened.at(String(this.#count++));
  }

  #open(): HeldFolder {
    inHeld(this.#root, '', (worktree) => makeFolder(worktree.at(ownFolder)));
    inHeld(this.#root, ownFolder, (own) => {
      rmSync(own.at(name), { recursive: true, force: true });
      makeFolder(own.at(name));
    });
    return holdUnchanged(this.#root, `${ownFolder}/${name}`);
  }
}
