import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, type ProcessIdentity } from '../../core/host/process-identity.ts';
import { processTree } from './process-tree.ts';
import { sendSignal } from './send-signal.ts';

const checkMs = 20;
/** At most this many processes get a TERM. */
const maxTold = 1000;
/** A limit for processes that the kernel does not end. */
const maxKillMs = 10_000;

/**
 * The processes of a command in a sandbox. Killing the first process ends all of them. The first process is the last
 * to end.
 */
export class SandboxProcesses {
  readonly #first: ProcessIdentity;

  constructor(first: ProcessIdentity) {
    this.#first = first;
  }

  /** Sends TERM, then KILL if processes remain. */
  async end(graceMs: number): Promise<void> {
    // The first process ignores TERM.
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
