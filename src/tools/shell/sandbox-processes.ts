import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, type ProcessIdentity } from '../../core/host/process-identity.ts';
import { processTree } from './process-tree.ts';
import { sendSignal } from './send-signal.ts';

const checkMs = 20;
/** Of more than these not all get a TERM. */
const maxTold = 1000;
/** For what the kernel does not let go of. */
const maxKillMs = 10_000;

/** The processes of a command in a sandbox: all of them go when the first does, and it goes last. */
export class SandboxProcesses {
  readonly #first: ProcessIdentity;

  constructor(first: ProcessIdentity) {
    this.#first = first;
  }

  /** TERM, then KILL for what is still there. */
  async end(graceMs: number): Promise<void> {
    // The first one takes no TERM.
    if (graceMs > 0 && isRunning(this.#first)) {
      for (const pid of processTree(this.#first.pid, maxTold)) sendSignal(pid, 'SIGTERM');
    }
    const since = performance.now();
    for (let ms = 0; isRunning(this.#first) && ms < graceMs + maxKillMs; ms = performance.now() - since) {
      if (ms >= graceMs) sendSignal(this.#first.pid, 'SIGKILL');
      await sleep(checkMs);
    }
  }
}
