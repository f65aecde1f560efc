import { mkdirSync, mkdtempSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { holdUnchanged } from './held-folder.ts';

/** Moves what is in a worktree into a new folder below `aside`, each at its path, and gives that folder. */
export const moveAside = (root: string, paths: readonly string[], aside: string): string => {
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  const to = mkdtempSync(join(aside, 'moved-'));
  for (const path of paths) {
    const end = path.lastIndexOf('/');
    const folder = holdUnchanged(root, path.slice(0, Math.max(0, end)));
    try {
      mkdirSync(dirname(join(to, path)), { recursive: true });
      renameSync(folder.at(path.slice(end + 1)), join(to, path));
    } finally {
      folder.close();
    }
  }
  return to;
};
