import { readFileSync } from 'node:fs';

/** Identifies a process, even if a later one gets the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The boot id and the start time in ticks since boot. Empty on systems without /proc. */
  readonly start: string;
}

export interface ProcessStat {
  readonly state: string;
  readonly group: number;
  readonly start: string;
  readonly isOfKernel: boolean;
}

const kernelThread = 0x200000;

/**
 * Reads the stat file of a process, see proc_pid_stat(5). Parses from the last bracket on, because the process name
 * before it can contain any character.
 */
export const statOf = (pid: number): ProcessStat | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return {
      state: fields[0]!,
      group: Number(fields[2]),
      start: fields[19]!,
      isOfKernel: (Number(fields[6]) & kernelThread) !== 0,
    };
  } catch {
    return undefined;
  }
};

/** The id of the current boot. Empty on systems without /proc. */
export const bootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
};

export const identityOf = (pid: number): ProcessIdentity => {
  const stat = statOf(pid);
  return { pid, start: stat ? `${bootId()}/${stat.start}` : '' };
};

export const thisProcess = (): ProcessIdentity => identityOf(process.pid);

const canBeSignalled = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** Whether the process is alive. A zombie process is treated as ended. */
export const isRunning = ({ pid, start }: ProcessIdentity): boolean =>
  canBeSignalled(pid) && identityOf(pid).start === start && statOf(pid)?.state !== 'Z';
