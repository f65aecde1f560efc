import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsync,
  mkdirSync,
  openSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownFolder } from '../path.ts';
import { type HeldFolder, holdUnchanged } from './held-folder.ts';

export interface NewFile {
  readonly bytes: Uint8Array;
  readonly mode: number;
}

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

/** What a restore left that died when all but this was done. */
export const clearStaging = (root: string): void => {
  if (existsSync(join(root, ownFolder, name))) new Staging(root).close();
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
 * left there goes with the next one, also when that finds nothing to do.
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

  /** On disk when it returns: many are synced in little more time than one. Gives the paths to rename from. */
  async files(files: readonly NewFile[]): Promise<readonly string[]> {
    const opened: number[] = [];
    try {
      const paths = files.map(({ bytes, mode }) => {
        const path = this.#nextPath();
        const file = openSync(path, flags, 0o600);
        opened.push(file);
        for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
        fchmodSync(file, mode);
        return path;
      });
      await Promise.all(opened.map((file) => synced(file)));
      return paths;
    } finally {
      for (const file of opened) closeSync(file);
    }
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
