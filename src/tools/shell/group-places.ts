import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

/** The controllers that limit a command. */
export type Controller = 'pids' | 'memory' | 'cpu' | 'cpuacct';

/** Folders of the cgroup file system in which a group for a command can be made. */
export interface GroupPlaces {
  readonly version: 1 | 2;
  /** The parent folder for each controller. In version 2, all controllers share one. */
  readonly parents: Readonly<Partial<Record<Controller, string>>>;
}

const controllers: readonly Controller[] = ['pids', 'memory', 'cpu', 'cpuacct'];

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

const words = (path: string): readonly string[] => read(path).split(/\s+/).filter(Boolean);

interface GroupMount {
  readonly type: string;
  readonly root: string;
  readonly at: string;
  readonly options: readonly string[];
}

/** The cgroup mounts, see proc_pid_mountinfo(5). */
const mountsIn = (proc: string): readonly GroupMount[] =>
  read(join(proc, 'mountinfo'))
    .split('\n')
    .flatMap((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [type = '', , options = ''] = after.split(' ');
      if (!/^cgroup2?$/.test(type)) return [];
      const [, , , root = '', at = ''] = before.split(' ');
      return [{ type, root, at, options: options.split(',') }];
    });

/** The group of this process by controller. The entry of version 2 has an empty name. */
const pathsIn = (proc: string): ReadonlyMap<string, string> =>
  new Map(
    read(join(proc, 'cgroup'))
      .split('\n')
      .filter(Boolean)
      .flatMap((line) => {
        const [, names = '', ...path] = line.split(':');
        return names.split(',').map((name) => [name, path.join(':')] as const);
      }),
  );

const folderOf = ({ root, at }: GroupMount, path: string): string => join(at, relative(root, path) || '.');

/** Whether groups can be made here: tries it, because a mount may be read-only and a folder another user's. */
const isUsable = (parent: string, file: string, value: string): boolean => {
  const trial = join(parent, `perdure-trial-${process.pid}`);
  try {
    mkdirSync(trial);
  } catch {
    return false;
  }
  try {
    writeFileSync(join(trial, file), value);
    return true;
  } catch {
    return false;
  } finally {
    try {
      rmdirSync(trial);
    } catch {
      // Only a folder that is no cgroup keeps files.
    }
  }
};

const hasControllers = (folder: string): boolean => {
  const enabled = words(join(folder, 'cgroup.subtree_control'));
  return ['pids', 'memory'].every((name) => enabled.includes(name));
};

/**
 * Makes room in a group that was delegated to this process: version 2 allows limits only in groups below one without
 * processes. So this process moves to a group of its own, if it is the only one there.
 */
const makeRoom = (folder: string): boolean => {
  const available = words(join(folder, 'cgroup.controllers'));
  const inside = words(join(folder, 'cgroup.procs'));
  if (!available.includes('pids') || inside.some((pid) => pid !== String(process.pid))) return false;
  const own = join(folder, 'perdure-worker');
  try {
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'cgroup.procs'), String(process.pid));
    const wanted = ['pids', 'memory', 'cpu'].filter((name) => available.includes(name));
    writeFileSync(join(folder, 'cgroup.subtree_control'), wanted.map((name) => `+${name}`).join(' '));
    return true;
  } catch {
    return false;
  }
};

/** Groups beside a unit of systemd would escape the limits of that unit. */
const isUnit = (folder: string): boolean => /\.(?:service|slice)$/.test(basename(folder));

const placesInVersion2 = (proc: string, mayMove: boolean): GroupPlaces | undefined => {
  const mount = mountsIn(proc).find(({ type }) => type === 'cgroup2');
  const path = pathsIn(proc).get('');
  if (!mount || path === undefined) return undefined;
  const own = folderOf(mount, path);
  const above = isUnit(own) || own === mount.at ? [] : [dirname(own)];
  const parent =
    [own, ...above].find((folder) => hasControllers(folder) && isUsable(folder, 'pids.max', '16')) ??
    (mayMove && makeRoom(own) && isUsable(own, 'pids.max', '16') ? own : undefined);
  if (!parent) return undefined;
  const hasCpu = words(join(parent, 'cgroup.subtree_control')).includes('cpu');
  return { version: 2, parents: { pids: parent, memory: parent, cpuacct: parent, ...(hasCpu && { cpu: parent }) } };
};

const trials: Readonly<Record<Controller, readonly [file: string, value: string]>> = {
  pids: ['pids.max', '16'],
  memory: ['memory.limit_in_bytes', String(64 * 1024 ** 2)],
  cpu: ['cpu.shares', '256'],
  cpuacct: ['cpuacct.usage', '0'],
};

const placesInVersion1 = (proc: string): GroupPlaces | undefined => {
  const [mounts, paths] = [mountsIn(proc), pathsIn(proc)];
  const found = controllers.flatMap((name) => {
    const mount = mounts.find(({ type, options }) => type === 'cgroup' && options.includes(name));
    const path = paths.get(name);
    if (!mount || path === undefined) return [];
    const parent = folderOf(mount, path);
    return isUsable(parent, ...trials[name]) ? [[name, parent] as const] : [];
  });
  return found.some(([name]) => name === 'pids') ? { version: 1, parents: Object.fromEntries(found) } : undefined;
};

/**
 * Finds where groups can be made: version 2, else version 1. Undefined if nowhere. With `mayMove`, this process may
 * move to another group. `proc` is the folder of this process in /proc.
 */
export const findGroupPlaces = (mayMove = false, proc = '/proc/self'): GroupPlaces | undefined =>
  placesInVersion2(proc, mayMove) ?? placesInVersion1(proc);
