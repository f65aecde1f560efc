import type { Stats } from 'node:fs';
import { statfsSync, statSync } from 'node:fs';
import { isSettled, type Stamp, stampOf } from './read-file.ts';

/** Those known to change the times of a folder whenever a name comes or goes: ext, XFS, Btrfs, F2FS, ZFS, tmpfs, overlay. */
const stampingFileSystems: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630,
]);

/** What tells that a folder of the worktree still holds the names that it is about to be asked for; undefined where nothing does. */
export const folderStamps = (root: string): ((stats: Stats, lookedAt: number) => Stamp | undefined) => {
  if (!stampingFileSystems.has(statfsSync(root).type)) return () => undefined;
  const { dev } = statSync(root);
  return (stats, lookedAt) => (stats.dev === dev && isSettled(stats, lookedAt) ? stampOf(stats) : undefined);
};
