import { readFileSync } from 'node:fs';

/** A process, told apart from a later one of the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in ticks since boot, and which boot; empty where there is no /proc. */
  readonly start: string;
}

export interface ProcessStat {
  readonly state: string;
  readonly group: number;
  readonly start: string;
  readonly isOfKernel: boolean;
}

const kernelThread = 0x200000;

/** See proc_pid_stat(5). What comes before the last bracket is a name of any form. */
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

/** Empty where the system does not tell. */
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

/** One that has ended and was not waited for yet counts as gone. */
export const isRunning = ({ pid, start }: ProcessIdentity): boolean =>
  canBeSignalled(pid) && identityOf(pid).start === start && statOf(pid)?.state !== 'Z';
