import type { Stats } from 'node:fs';
import { statfsSync, statSync } from 'node:fs';
import { isSettled, type Stamp, stampOf } from './read-file.ts';

/**
 * File systems that update the times of a folder whenever a name is added or removed: ext, XFS, Btrfs, F2FS, ZFS,
 * tmpfs, overlay.
 */
const stampingFileSystems: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630,
]);

/**
 * Returns a function that gives the stamp of a folder. While the stamp stays the same, the folder's names do too.
 * Undefined where that is not certain.
 */
export const folderStamps = (root: string): ((stats: Stats, lookedAt: number) => Stamp | undefined) => {
  if (!stampingFileSystems.has(statfsSync(root).type)) return () => undefined;
  const { dev } = statSync(root);
  return (stats, lookedAt) => (stats.dev === dev && isSettled(stats, lookedAt) ? stampOf(stats) : undefined);
};
