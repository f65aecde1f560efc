import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, cpus, release, tmpdir, totalmem, type } from 'node:os';

const fileSystems: Record<number, string> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  2035054128: 'overlayfs',
  16914836: 'tmpfs',
};

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
};

/** The disks, as far as Linux reports them. A disk model does not identify a machine. */
const disks = (): string => {
  const kinds = new Set<string>();
  try {
    for (const name of readdirSync('/sys/block')) {
      if (/^(loop|ram|zram|sr|dm-|md)/.test(name)) continue;
      const spins = read(`/sys/block/${name}/queue/rotational`) === '1';
      kinds.add(
        name.startsWith('vd') ? 'virtual disk (virtio)' : name.startsWith('nvme') ? 'NVMe' : spins ? 'HDD' : 'SSD',
      );
    }
  } catch {
    return 'disk of an unknown kind';
  }
  return [...kinds].join(', ') || 'disk of an unknown kind';
};

export const machine = (): string => {
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  const cpu = cpus()[0]?.model.trim() ?? 'unknown processor';
  const fileSystem = fileSystems[statfsSync(tmpdir()).type] ?? 'another file system';
  return `${availableParallelism()} cores (${cpu}), ${gigabytes} GB of memory, ${type()} ${release()}, ${disks()} with ${fileSystem}`;
};
