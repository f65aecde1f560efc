import { readdirSync, readFileSync } from 'node:fs';
import { release } from 'node:os';
import { findGroupPlaces, type GroupPlaces } from './group-places.ts';

export type HeldBy = 'cgroup v2' | 'cgroup v1' | 'rlimit' | 'watch';

/** Which part of the kernel holds each limit of a command on this host. `watch` means that only the supervisor looks. */
export interface KernelLimits {
  readonly processes: HeldBy;
  readonly memory: HeldBy;
  readonly cpu: HeldBy;
}

const held = (places: GroupPlaces | undefined, isRoot: boolean): KernelLimits => {
  const by = places && (`cgroup v${places.version}` as const);
  const orElse = process.platform === 'linux' ? 'rlimit' : 'watch';
  return {
    // The kernel does not count the processes of root.
    processes: by ?? (isRoot ? 'watch' : orElse),
    memory: places?.parents.memory && by ? by : orElse,
    cpu: places?.parents.cpuacct && by ? by : orElse,
  };
};

let found: KernelLimits | undefined;

/** Finds out once per process. May move this process to a cgroup of its own, if its group was delegated to it. */
export const kernelLimits = (): KernelLimits => {
  found ??= held(process.platform === 'linux' ? findGroupPlaces(true) : undefined, process.getuid?.() === 0);
  return found;
};

const release514 = 5 * 1000 + 14;
const releaseNumber = (): number => {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return major * 1000 + minor;
};

/** The tasks of this user, which RLIMIT_NPROC counts together. */
const ownTasks = (): number =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .reduce((sum, pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'latin1');
        const isOwn = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]) === process.getuid?.();
        return sum + (isOwn ? Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 1) : 0);
      } catch {
        return sum;
      }
    }, 0);

/**
 * The value of RLIMIT_NPROC that leaves a command this many processes. Since Linux 5.14, a user namespace has a count
 * of its own. Elsewhere the other processes of the user count too.
 */
export const processRlimit = (processes: number, isConfined: boolean): number | undefined => {
  if (process.platform !== 'linux' || process.getuid?.() === 0) return undefined;
  return processes + (isConfined && releaseNumber() >= release514 ? 0 : ownTasks());
};

export const limitsFor = held;
