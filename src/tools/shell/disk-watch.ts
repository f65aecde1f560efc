import { type BigIntStats, lstatSync, opendirSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface DiskLimits {
  readonly diskBytes: number;
  readonly diskFiles: number;
}

interface Room {
  readonly bytes: number;
  readonly files: number;
  readonly all: number;
}

/** The free room of a file system. Undefined if it cannot be read. */
const roomOf = (path: string): Room | undefined => {
  try {
    const { bsize, bavail, ffree, blocks } = statfsSync(path);
    return { bytes: bsize * bavail, files: ffree, all: bsize * blocks };
  } catch {
    return undefined;
  }
};

const blockBytes = 512n;
/** A nearly full disk ends the command that writes to it, whatever its own limit. */
const keptFree = { bytes: 512 * 1024 ** 2, share: 0.02 };
/** A command that has written less than this is not blamed for a full disk. */
const blamedBytes = 64 * 1024 ** 2;

interface Written {
  bytes: number;
  files: number;
}

const add = (written: Written, stats: BigIntStats): void => {
  written.bytes += Number(stats.blocks * blockBytes);
  written.files++;
};

/** What was written since `sinceNs` below a folder. Uses the change time, which no program can set. */
const writtenBelow = (root: string, sinceNs: bigint, written: Written, isEnough: () => boolean): void => {
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined && !isEnough(); folder = folders.pop()) {
    try {
      using entries = opendirSync(folder);
      for (let entry = entries.readSync(); entry && !isEnough(); entry = entries.readSync()) {
        const path = join(folder, entry.name);
        const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
        if (stats && stats.ctimeNs >= sinceNs) add(written, stats);
        if (stats?.isDirectory()) folders.push(path);
      }
    } catch {
      // The folder is gone, or hidden from this user.
    }
  }
};

/** Files that the processes hold open after removing them. They take room, but no folder lists them. */
const removedButOpen = (pids: readonly number[], written: Written): void => {
  const seen = new Set<string>();
  for (const pid of pids) {
    try {
      for (const name of readdirSync(`/proc/${pid}/fd`)) {
        const stats = statSync(`/proc/${pid}/fd/${name}`, { bigint: true, throwIfNoEntry: false });
        if (!stats?.isFile() || stats.nlink > 0n || seen.has(`${stats.dev}/${stats.ino}`)) continue;
        seen.add(`${stats.dev}/${stats.ino}`);
        add(written, stats);
      }
    } catch {
      // The process has ended.
    }
  }
};

/** The bytes that the kernel says one process wrote, with the children that it has waited for. */
const writtenByProcess = (pid: number): number => {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1] ?? 0);
  } catch {
    // The process has ended, or the kernel does not count.
    return 0;
  }
};

/** Keeps the highest sum, because the count of a process may end with it. */
const writeCount = (): ((pids: readonly number[]) => number) => {
  let highest = 0;
  return (pids) => {
    highest = Math.max(
      highest,
      pids.reduce((sum, pid) => sum + writtenByProcess(pid), 0),
    );
    return highest;
  };
};

/**
 * Watches how much a command writes to its folders. A look costs one statfs per folder. Only when the disk has lost
 * enough room, the folders are walked to find out whether the command took it. A file may have neither a name nor a
 * descriptor, such as that of a running program, so a command that wrote as much as is missing is blamed too.
 */
export const diskWatch = (
  folders: readonly string[],
  { diskBytes, diskFiles }: DiskLimits,
  pidsOf: () => readonly number[],
): (() => boolean) => {
  // The clock of file times is coarser than this one.
  const startedNs = BigInt(Date.now() - 20) * 1_000_000n;
  const atStart = folders.map(roomOf);
  const writtenBy = writeCount();
  const isSuspect = (): boolean =>
    folders.some((folder, at) => {
      const [before, now] = [atStart[at], roomOf(folder)];
      if (!before || !now) return false;
      const isNearlyFull = now.bytes < Math.min(keptFree.bytes, now.all * keptFree.share);
      const lost = before.bytes - now.bytes;
      return (isNearlyFull && lost > blamedBytes) || lost > diskBytes || before.files - now.files > diskFiles;
    });
  return () => {
    if (!isSuspect()) return false;
    const written: Written = { bytes: 0, files: 0 };
    const isNearlyFull = folders.some((folder) => {
      const now = roomOf(folder);
      return now !== undefined && now.bytes < Math.min(keptFree.bytes, now.all * keptFree.share);
    });
    const maxBytes = isNearlyFull ? Math.min(diskBytes, blamedBytes) : diskBytes;
    const isEnough = () => written.bytes > maxBytes || written.files > diskFiles;
    removedButOpen(pidsOf(), written);
    for (const folder of folders) writtenBelow(folder, startedNs, written, isEnough);
    return isEnough() || writtenBy(pidsOf()) > maxBytes;
  };
};
