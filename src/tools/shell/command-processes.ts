import { setTimeout as sleep } from 'node:timers/promises';
import { ProcessSearch } from './process-search.ts';
import { sendSignal } from './send-signal.ts';

const checkMs = 20;
/** Kills repeatedly, because a process can start another between the search and the signal. */
const maxRounds = 20;

/** The processes of a command: its group and, on systems with /proc, everything else it has started. */
export class CommandProcesses {
  readonly #group: number | undefined;
  readonly #search: ProcessSearch | undefined;

  constructor(group: number | undefined, mark: string) {
    this.#group = group;
    this.#search = process.platform === 'linux' ? new ProcessSearch(group, mark) : undefined;
  }

  /** Sends TERM, then KILL to the processes that remain. */
  async end(graceMs: number): Promise<void> {
    if (!(await this.#signal('SIGTERM'))) return;
    const since = performance.now();
    while (performance.now() - since < graceMs) {
      await sleep(checkMs);
      if (!(await this.#isAnyLeft())) return;
    }
    for (let round = 0; round < maxRounds && (await this.#signal('SIGKILL')); round++) await sleep(checkMs);
  }

  async #isAnyLeft(): Promise<boolean> {
    if (this.#search) return (await this.#search.find()).length > 0;
    return this.#group !== undefined && sendSignal(-this.#group, 0);
  }

  /** Returns whether there was a process to signal. */
  async #signal(name: NodeJS.Signals): Promise<boolean> {
    const isGroupHit = this.#group !== undefined && sendSignal(-this.#group, name);
    if (!this.#search) return isGroupHit;
    const pids = await this.#search.find();
    for (const pid of pids) sendSignal(pid, name);
    return pids.length > 0;
  }
}
