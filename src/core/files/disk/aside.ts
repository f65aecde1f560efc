import { chmodSync, lstatSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { holdUnchanged } from './held-folder.ts';

const ownerMay = 0o700;

/** Moves paths of a worktree into a new folder elsewhere, keeping their relative paths. */
export class Aside {
  readonly #root: string;
  readonly #above: string;
  #folder: string | undefined;

  constructor(root: string, above: string) {
    this.#root = root;
    this.#above = above;
  }

  /** The folder that paths were moved to. Undefined if no path was moved. */
  get folder(): string | undefined {
    return this.#folder;
  }

  move(path: string): void {
    const end = path.lastIndexOf('/');
    const folder = holdUnchanged(this.#root, path.slice(0, Math.max(0, end)));
    const mode = folder.mode();
    try {
      const [at, to] = [folder.at(path.slice(end + 1)), join(this.#made(), path)];
      folder.setMode(mode | ownerMay);
      if (lstatSync(at).isDirectory()) chmodSync(at, ownerMay);
      mkdirSync(dirname(to), { recursive: true });
      renameSync(at, to);
    } finally {
      folder.setMode(mode);
      folder.close();
    }
  }

  #made(): string {
    if (this.#folder !== undefined) return this.#folder;
    mkdirSync(this.#above, { recursive: true, mode: 0o700 });
    this.#folder = mkdtempSync(join(this.#above, 'moved-'));
    return this.#folder;
  }
}
