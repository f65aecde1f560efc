import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type LockVerdict, probeLocks } from './lock-probe.ts';
import { targetOf } from './orphaned-log.ts';
import { storeFailure } from './store-error.ts';

/** Types of file systems, as statfs reports them, whose locks depend on a server or a program. */
const remoteTypes: ReadonlySet<number> = new Set([
  0x6969, // NFS
  0x517b, // SMB
  0xff534d42, // CIFS
  0xfe534d42, // SMB2
  0x65735546, // FUSE
  0x01021997, // 9p
  0x00c36400, // Ceph
  0x0bd00bd0, // Lustre
  0x5346414f, // AFS
  0x786f4256, // VirtualBox shared folders
]);

export interface LockProbe {
  readonly typeOf: (folder: string) => Promise<number>;
  readonly deviceOf: (folder: string) => Promise<number>;
  readonly probe: (folder: string) => Promise<LockVerdict>;
}

const systemProbe: LockProbe = {
  typeOf: async (folder) => (await statfs(folder).catch(() => undefined))?.type ?? 0,
  deviceOf: async (folder) => (await stat(folder).catch(() => undefined))?.dev ?? 0,
  probe: probeLocks,
};

/** Devices whose locks work. Failures are not remembered, so that a folder can be mounted anew. */
const proven = new Set<number>();

/**
 * Rejects a folder on a file system without locks, where two processes would write over each other. A child process
 * takes tens of milliseconds, so only new stores and remote file systems are tried, once per process: all
 * folders of a device have the same locks.
 */
export const refuseWithoutLocks = async (
  file: string,
  isNew: boolean,
  { typeOf, deviceOf, probe }: LockProbe = systemProbe,
): Promise<void> => {
  const folder = dirname(targetOf(file));
  const device = await deviceOf(folder);
  if (proven.has(device)) return;
  if (!isNew && !remoteTypes.has((await typeOf(folder)) >>> 0)) return;
  const verdict = await probe(folder);
  if (verdict === 'missing') {
    throw storeFailure('STORE_UNAVAILABLE', file, `the file system of ${folder} has no locks between processes`, {
      advice: 'nothing was written: keep the store on a local disk, mount the folder with locks, or use PostgreSQL',
      details: { folder },
    });
  }
  if (verdict === 'works') proven.add(device);
};
