import { readdirSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { statOf } from './process-identity.ts';

/** In the environment of everything that a command starts, so that what leaves its group is found too. */
export const markName = 'PERDURE_COMMAND';

const hasProc = platform() === 'linux';
const checkMs = 20;
/** Between looking and signalling a process can start another. */
const maxRounds = 20;

const isMarked = (pid: number, mark: string): boolean => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`${markName}=${mark}`);
  } catch {
    return false;
  }
};

const signal = (target: number, name: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(target, name);
    return true;
  } catch {
    return false;
  }
};

/** The processes of a command: its group and, where /proc tells, whatever else it has started. */
export class CommandProcesses {
  readonly #group: number | undefined;
  readonly #mark: string;

  constructor(group: number | undefined, mark: string) {
    this.#group = group;
    this.#mark = mark;
  }

  /** TERM, then KILL for what is still there. Returns how many there were. */
  async end(graceMs: number): Promise<number> {
    const found = this.#signal('SIGTERM');
    for (const start = performance.now(); found > 0 && performance.now() - start < graceMs && this.#isAnyLeft(); ) {
      await sleep(checkMs);
    }
    for (let round = 0; found > 0 && round < maxRounds && this.#signal('SIGKILL') > 0; round++) await sleep(checkMs);
    return found;
  }

  #pids(): readonly number[] {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => {
        if (!Number.isInteger(pid) || pid === process.pid) return false;
        const stat = statOf(pid);
        if (!stat || stat.state === 'Z' || stat.state === 'X') return false;
        return stat.group === this.#group || isMarked(pid, this.#mark);
      });
  }

  #isAnyLeft(): boolean {
    return hasProc ? this.#pids().length > 0 : this.#group !== undefined && signal(-this.#group, 0);
  }

  #signal(name: NodeJS.Signals): number {
    const isGroupHit = this.#group !== undefined && signal(-this.#group, name);
    if (!hasProc) return isGroupHit ? 1 : 0;
    const pids = this.#pids();
    for (const pid of pids) signal(pid, name);
    return pids.length;
  }
}
