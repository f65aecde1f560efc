import type { RunningServices } from '../engine/running-services.ts';
import type { SessionKey } from '../ports/store.ts';
import { RunWorker } from '../worker/worker.ts';

export interface OwnWorkerOptions {
  /** Whether the program lets the runtime start a worker. */
  readonly isWanted: boolean;
  /** The running services of the runtime, including workers that the program started. */
  readonly atWork: RunningServices;
  readonly closing: AbortSignal;
  make(): RunWorker;
  onWarning(problem: unknown): void;
}

/** The worker that a runtime starts by itself, at the first call that needs one. */
export class OwnWorker {
  readonly #options: OwnWorkerOptions;
  #worker: RunWorker | undefined;
  #isEnded = false;

  constructor(options: OwnWorkerOptions) {
    this.#options = options;
  }

  /** Starts the worker, unless it runs already or a worker of the program serves the session. */
  start(key: SessionKey): void {
    const { isWanted, atWork, closing, make, onWarning } = this.#options;
    if (!isWanted || this.#isEnded || closing.aborted || this.#worker) return;
    if ([...atWork].some((each) => each instanceof RunWorker && each.serves(key))) return;
    const worker = make();
    this.#worker = worker;
    worker.start().catch((problem) => {
      if (this.#worker === worker) this.#worker = undefined;
      if (!closing.aborted) onWarning(problem);
    });
  }

  /** Stops this worker if the program starts a worker that serves every session. */
  giveWayTo(other: RunWorker): void {
    const worker = this.#worker;
    if (!worker || worker === other || !other.servesAll) return;
    this.#worker = undefined;
    worker.drain().catch(this.#options.onWarning);
  }

  /** Lets each session finish its current step, and stops for good. */
  async end(): Promise<void> {
    this.#isEnded = true;
    await this.#worker?.drain();
  }
}
