import { backoffMs } from '../../concurrency/backoff.ts';
import type { Worker } from '../../core/worker/worker.ts';
import { PerdureError } from '../../schema/error.ts';
import type { Context } from '../parse/command.ts';
import { drain } from '../runs/interrupt.ts';
import type { AppendTally, WorkerProcess } from './worker-process.ts';

/** The workers that `serve` runs. */
export interface Workforce {
  /** How many workers there should be, and how many are at work. */
  readonly count: number;
  readonly running: number;
  /** Returns when all workers are at work. */
  start(): Promise<void>;
  /** Lets current steps finish. All workers have ended when it returns. */
  drain(): Promise<void>;
  /** Ends a drain early. */
  stop(): Promise<void>;
}

export const noWorkforce: Workforce = {
  count: 0,
  running: 0,
  start: async () => {},
  drain: async () => {},
  stop: async () => {},
};

/** One worker in this process, for a store that no other process can open. */
export const inProcess = (context: Context, worker: Worker): Workforce => ({
  count: 1,
  get running() {
    return worker.state().isEnding ? 0 : 1;
  },
  start: () => worker.start(),
  drain: () => drain(context, worker),
  stop: () => worker.stop(),
});

export interface WorkforceOptions {
  readonly count: number;
  readonly start: () => WorkerProcess;
  /** Called when a process has begun to work. */
  readonly onReady: (worker: WorkerProcess) => void;
  readonly onAppended: (tally: AppendTally) => void;
  readonly onRestart: (message: string) => void;
}

const backoff = { firstMs: 250, maxMs: 30_000, fixed: 0.5 };
/** A process that worked for this long resets the back-off. */
const calmMs = 60_000;
/** Longer than a worker's own drain, so that only a stuck process is killed. */
const drainMs = 30_000;
const stopMs = 3000;

interface Slot {
  process?: WorkerProcess;
  isReady: boolean;
  failures: number;
  readyAt: number;
  restart?: NodeJS.Timeout;
}

/** Worker processes. A process that dies is restarted with back-off, until `drain` or `stop`. */
export class WorkerProcesses implements Workforce {
  readonly #options: WorkforceOptions;
  readonly #slots: readonly Slot[];
  readonly #started = Promise.withResolvers<void>();
  #hasStarted = false;
  #isEnding = false;

  constructor(options: WorkforceOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.count }, () => ({ isReady: false, failures: 0, readyAt: 0 }));
  }

  get count(): number {
    return this.#slots.length;
  }

  get running(): number {
    return this.#slots.filter(({ isReady }) => isReady).length;
  }

  async start(): Promise<void> {
    for (const slot of this.#slots) this.#run(slot);
    await this.#started.promise;
  }

  async drain(): Promise<void> {
    await this.#end('drain', drainMs);
  }

  async stop(): Promise<void> {
    await this.#end('stop', stopMs);
  }

  #run(slot: Slot): void {
    const worker = this.#options.start();
    slot.process = worker;
    worker.onMessage((message) => {
      if (message.type === 'appended') this.#options.onAppended(message);
      if (message.type === 'ready') this.#ready(slot, worker);
    });
    void worker.ended.then((how) => this.#ended(slot, worker, how));
  }

  #ready(slot: Slot, worker: WorkerProcess): void {
    slot.isReady = true;
    slot.readyAt = performance.now();
    this.#options.onReady(worker);
    if (this.running < this.count) return;
    this.#hasStarted = true;
    this.#started.resolve();
  }

  #ended(slot: Slot, { pid }: WorkerProcess, how: string): void {
    const wasCalm = slot.isReady && performance.now() - slot.readyAt >= calmMs;
    slot.isReady = false;
    delete slot.process;
    if (this.#isEnding) {
      this.#started.resolve();
      return;
    }
    if (!this.#hasStarted) {
      const problem = `a worker process ended with ${how} before it was ready: stderr shows its error; \`perdure worker\` shows it alone`;
      this.#started.reject(new PerdureError('RUNTIME_CLOSED', problem));
      return;
    }
    slot.failures = wasCalm ? 1 : slot.failures + 1;
    const delay = backoffMs(slot.failures, backoff, Math.random);
    this.#options.onRestart(`worker process ${pid} ended with ${how}; it is restarted in ${Math.round(delay)} ms`);
    slot.restart = setTimeout(() => this.#run(slot), delay);
  }

  async #end(type: 'drain' | 'stop', withinMs: number): Promise<void> {
    this.#isEnding = true;
    for (const { restart } of this.#slots) clearTimeout(restart);
    const living = this.#slots.filter(({ process }) => process);
    await Promise.all(
      living.map(async ({ process: worker, isReady }) => {
        worker!.send({ type });
        if (!isReady) worker!.kill('SIGTERM'); // it may not listen yet
        const late = setTimeout(() => worker!.kill('SIGKILL'), withinMs);
        await worker!.ended;
        clearTimeout(late);
      }),
    );
  }
}
