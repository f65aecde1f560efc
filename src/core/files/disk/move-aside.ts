import { chmodSync, lstatSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { holdUnchanged } from './held-folder.ts';

const ownerMay = 0o700;

/** Moves what is in a worktree into a new folder below `aside`, each at its path, and gives that folder. */
export const moveAside = (root: string, paths: readonly string[], aside: string): string => {
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  const to = mkdtempSync(join(aside, 'moved-'));
  for (const path of paths) {
    const end = path.lastIndexOf('/');
    const folder = holdUnchanged(root, path.slice(0, Math.max(0, end)));
    const mode = folder.mode();
    try {
      const at = folder.at(path.slice(end + 1));
      folder.setMode(mode | ownerMay);
      if (lstatSync(at).isDirectory()) chmodSync(at, ownerMay);
      mkdirSync(dirname(join(to, path)), { recursive: true });
      renameSync(at, join(to, path));
    } finally {
      folder.setMode(mode);
      folder.close();
    }
  }
  return to;
};
