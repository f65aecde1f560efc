import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { ownFolder } from '../path.ts';
import { type HeldFolder, holdUnchanged } from './held-folder.ts';

const name = 'restore';
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

const makeFolder = (path: string): void => {
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
};

/** Unless somebody keeps something there. */
const removeEmpty = (path: string): void => {
  try {
    rmdirSync(path);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
};

const within = (root: string, path: string, work: (folder: HeldFolder) => void): void => {
  const folder = holdUnchanged(root, path);
  try {
    work(folder);
  } finally {
    folder.close();
  }
};

/**
 * Where a restore writes what it will put into place: on the same disk, in the runtime's own folder, which no snapshot holds. What a crash
 * left there goes when the next one begins.
 */
export class Staging {
  readonly #root: string;
  readonly #held: HeldFolder;
  #count = 0;

  constructor(root: string) {
    this.#root = root;
    within(root, '', (worktree) => makeFolder(worktree.at(ownFolder)));
    within(root, ownFolder, (own) => {
      rmSync(own.at(name), { recursive: true, force: true });
      makeFolder(own.at(name));
    });
    this.#held = holdUnchanged(root, `${ownFolder}/${name}`);
  }

  /** On disk when it returns. Gives the path to rename from. */
  file(bytes: Uint8Array, mode: number): string {
    const path = this.#nextPath();
    const file = openSync(path, flags, 0o600);
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
      fchmodSync(file, mode);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    return path;
  }

  link(target: string): string {
    const path = this.#nextPath();
    symlinkSync(target, path);
    return path;
  }

  close(): void {
    this.#held.close();
    within(this.#root, ownFolder, (own) => rmSync(own.at(name), { recursive: true, force: true }));
    within(this.#root, '', (worktree) => removeEmpty(worktree.at(ownFolder)));
  }

  #nextPath(): string {
    return this.#held.at(String(this.#count++));
  }
}
