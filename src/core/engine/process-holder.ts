import { readlinkSync } from 'node:fs';
import { thisMachine } from '../files/disk/machine.ts';
import { bootId, isRunning, thisProcess } from '../host/process-identity.ts';
import type { Holder } from '../ports/queue.ts';

/**
 * Identifies the scope in which a pid is unique: one boot of a system, and one container on it. Undefined if the system
 * does not report them.
 */
const numberSpace = (): string | undefined => {
  try {
    return bootId() && `${bootId()}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
};

export const processHolder = async (worker: string, data: string): Promise<Holder> => {
  const { pid, start } = thisProcess();
  return { worker, machine: numberSpace() || (await thisMachine(data)), process: pid, processStart: start };
};

/** A process that other processes of the same system can look up. */
export type LoopHolder = Pick<Holder, 'machine' | 'process' | 'processStart'>;

/** Identifies this process in a log. Undefined if the system does not report process identities. */
export const loopHolder = (): LoopHolder | undefined => {
  const machine = numberSpace();
  if (!machine) return undefined;
  const { pid, start } = thisProcess();
  return { machine, process: pid, processStart: start };
};

/** Whether the holder is known to be dead. Only a process on the same machine can detect this. */
export const isGone = (holder: LoopHolder, here: string): boolean =>
  holder.machine === here && !isRunning({ pid: holder.process, start: holder.processStart });

/** Whether the process of a loop is known to be dead. */
export const isDeadLoop = (holder: LoopHolder): boolean => {
  const here = numberSpace();
  return here !== undefined && isGone(holder, here);
};

/** Whether the holder is another process on the same machine. */
export const isNear = (holder: Holder, own: Holder): boolean =>
  holder.machine === own.machine && holder.process !== own.process;
