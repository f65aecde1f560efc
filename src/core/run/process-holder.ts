import { readFileSync, readlinkSync } from 'node:fs';
import { thisMachine } from '../files/disk/machine.ts';
import type { Holder } from '../ports/queue.ts';

/** Field 22 of /proc/PID/stat: when the process started, in ticks since boot. Elsewhere the number of the process has to do. */
const startOf = (process: number): string => {
  try {
    const stat = readFileSync(`/proc/${process}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
};

/** Where the number of a process means the same one: a boot of a system, and a container on it. Undefined where the system does not tell. */
const numberSpace = (): string | undefined => {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
};

export const processHolder = async (worker: string, data: string): Promise<Holder> => ({
  worker,
  machine: numberSpace() ?? (await thisMachine(data)),
  process: process.pid,
  processStart: startOf(process.pid),
});

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** Whether the holder is known to be dead. Only the machine it ran on can tell. */
export const isGone = (holder: Holder, here: string): boolean =>
  holder.machine === here && (!isAlive(holder.process) || startOf(holder.process) !== holder.processStart);

/** Another process of the same machine. */
export const isNear = (holder: Holder, own: Holder): boolean =>
  holder.machine === own.machine && holder.process !== own.process;
