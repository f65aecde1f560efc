import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { statOf } from '../../core/host/process-identity.ts';

/** A variable in the environment of all processes of a command, by which processes that left its group are found. */
export const markName = 'PERDURE_COMMAND';

const lookAgainMs = 10;
const maxLooks = 10;

const readProc = (pid: number, file: 'environ' | 'cmdline'): string | undefined => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return undefined;
  }
};

type Verdict = 'ours' | 'not-ours' | 'unsure';

/**
 * Finds processes in /proc. A single pass can miss some: an ending parent may just have started a child that is not in
 * the list, and a process inside exec shows no environment. In these cases it searches again.
 */
export class ProcessSearch {
  readonly #group: number | undefined;
  readonly #mark: string;
  readonly #knownZombies = new Set<number>();

  constructor(group: number | undefined, mark: string) {
    this.#group = group;
    this.#mark = `${markName}=${mark}`;
  }

  async find(): Promise<readonly number[]> {
    for (let looks = 1; ; looks++) {
      const verdicts = this.#look();
      const ours = verdicts.filter(([, verdict]) => verdict === 'ours').map(([pid]) => pid);
      const isSure = verdicts.every(([, verdict]) => verdict !== 'unsure');
      if (ours.length > 0 || isSure || looks === maxLooks) return ours;
      await sleep(lookAgainMs);
    }
  }

  #look(): readonly (readonly [number, Verdict])[] {
    const pids = readdirSync('/proc').map(Number);
    return pids.filter((pid) => pid > 0 && pid !== process.pid).map((pid) => [pid, this.#judge(pid)] as const);
  }

  #judge(pid: number): Verdict {
    const stat = statOf(pid);
    if (!stat) return 'unsure';
    if (stat.state === 'Z' || stat.state === 'X') {
      const isNew = !this.#knownZombies.has(pid);
      this.#knownZombies.add(pid);
      return isNew ? 'unsure' : 'not-ours';
    }
    if (stat.group === this.#group) return 'ours';
    const environment = readProc(pid, 'environ');
    if (environment?.split('\0').includes(this.#mark)) return 'ours';
    const isBeingReplaced = environment === '' && !stat.isOfKernel && readProc(pid, 'cmdline') === '';
    return isBeingReplaced ? 'unsure' : 'not-ours';
  }
}
