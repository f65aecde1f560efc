import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, type ProcessIdentity, thisProcess } from '../../core/host/process-identity.ts';
import type { GroupPlaces } from './group-places.ts';
import { sendSignal } from './send-signal.ts';

export interface GroupLimits {
  readonly processes: number;
  readonly memoryBytes: number;
}

const prefix = 'perdure-command-';
const checkMs = 10;
const maxKillMs = 10_000;

const text = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

const tryTo = (act: () => void): boolean => {
  try {
    act();
    return true;
  } catch {
    return false;
  }
};

const count = (path: string, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text(path))?.[1] ?? 0);

/** The name holds the supervisor's identity, so that a later supervisor finds the groups of those that died. */
const nameOf = ({ pid, start }: ProcessIdentity): string => `${prefix}${pid}-${start.split('/').at(-1)}`;

const isOfLiveSupervisor = (name: string): boolean => {
  const [pid, start] = name.slice(prefix.length).split('-');
  const boot = thisProcess().start.split('/')[0];
  return isRunning({ pid: Number(pid), start: `${boot}/${start}` });
};

/** The cgroup of one command: the kernel limits all its processes together, whatever they do. */
export class CommandGroup {
  readonly #version: 1 | 2;
  /** By controller. In version 2 they are all the same. */
  readonly folders: Readonly<Record<string, string>>;

  constructor(version: 1 | 2, folders: Readonly<Record<string, string>>) {
    this.#version = version;
    this.folders = folders;
  }

  /** Creates the group of the command that this process supervises. */
  static create({ version, parents }: GroupPlaces, { processes, memoryBytes }: GroupLimits): CommandGroup {
    const name = nameOf(thisProcess());
    const folders = Object.fromEntries(Object.entries(parents).map(([key, parent]) => [key, join(parent, name)]));
    const group = new CommandGroup(version, folders);
    const set = (controller: string, file: string, value: number | string) => {
      const folder = folders[controller];
      if (folder !== undefined) writeFileSync(join(folder, file), String(value));
    };
    try {
      for (const folder of group.#all()) mkdirSync(folder, { recursive: true });
      set('pids', 'pids.max', processes);
      set('memory', version === 2 ? 'memory.max' : 'memory.limit_in_bytes', memoryBytes);
      // Without these, memory is limited all the same, but swap may be used in addition.
      tryTo(() =>
        set(
          'memory',
          version === 2 ? 'memory.swap.max' : 'memory.memsw.limit_in_bytes',
          version === 2 ? 0 : memoryBytes,
        ),
      );
      if (version === 2) tryTo(() => set('memory', 'memory.oom.group', 1));
      // A quarter of the default weight, so that the worker and its neighbours come first.
      tryTo(() => set('cpu', version === 2 ? 'cpu.weight' : 'cpu.shares', version === 2 ? 25 : 256));
    } catch (error) {
      group.#removeFolders();
      throw error;
    }
    return group;
  }

  /** Ends and removes what supervisors that were killed have left. */
  static async removeLeftovers({ version, parents }: GroupPlaces): Promise<void> {
    const names = new Set(
      Object.values(parents).flatMap((parent) => {
        try {
          return readdirSync(parent).filter((name) => name.startsWith(prefix));
        } catch {
          return [];
        }
      }),
    );
    for (const name of names) {
      if (isOfLiveSupervisor(name)) continue;
      const folders = Object.entries(parents).map(([key, parent]) => [key, join(parent, name)] as const);
      await new CommandGroup(version, Object.fromEntries(folders)).remove();
    }
  }

  /** The files to which a process writes `0` to enter the group. */
  get entrances(): readonly string[] {
    return this.#all().map((folder) => join(folder, 'cgroup.procs'));
  }

  /** The limit that stopped the command, according to the kernel's counters. */
  limitHit(): 'processes' | 'memory' | undefined {
    const { pids, memory } = this.folders;
    if (pids && count(join(pids, 'pids.events'), 'max') > 0) return 'processes';
    if (!memory) return undefined;
    const kills = this.#version === 2 ? 'memory.events' : 'memory.oom_control';
    return count(join(memory, kills), 'oom_kill') > 0 ? 'memory' : undefined;
  }

  /** The CPU time of all processes together, in ms. Undefined if it is not counted. */
  cpuMs(): number | undefined {
    const folder = this.folders.cpuacct;
    if (!folder) return undefined;
    if (this.#version === 2) return count(join(folder, 'cpu.stat'), 'usage_usec') / 1000;
    return Number(text(join(folder, 'cpuacct.usage'))) / 1e6;
  }

  get holdsMemory(): boolean {
    return this.folders.memory !== undefined;
  }

  pids(): readonly number[] {
    const all = this.#all().flatMap((folder) =>
      text(join(folder, 'cgroup.procs')).split('\n').filter(Boolean).map(Number),
    );
    return [...new Set(all)].filter((pid) => pid > 0);
  }

  /** Kills every process in the group. None can be started meanwhile. */
  async kill(): Promise<void> {
    const { pids } = this.folders;
    if (pids && this.pids().length > 0) tryTo(() => writeFileSync(join(pids, 'pids.max'), '0'));
    const since = performance.now();
    while (this.pids().length > 0 && performance.now() - since < maxKillMs) {
      for (const pid of this.pids()) sendSignal(pid, 'SIGKILL');
      await sleep(checkMs);
    }
  }

  /** Kills the processes and removes the group. */
  async remove(): Promise<void> {
    await this.kill();
    // The kernel releases a group shortly after its last process.
    for (let tries = 0; tries < 50 && !this.#removeFolders(); tries++) await sleep(checkMs);
  }

  #all(): readonly string[] {
    return [...new Set(Object.values(this.folders))];
  }

  #removeFolders(): boolean {
    return this.#all()
      .map((folder) => {
        try {
          rmdirSync(folder);
          return true;
        } catch (error) {
          return (error as NodeJS.ErrnoException).code === 'ENOENT';
        }
      })
      .every(Boolean);
  }
}
