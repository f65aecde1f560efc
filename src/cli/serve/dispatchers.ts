import type { Dispatcher } from '../../core/webhooks/dispatcher.ts';
import type { Runtime } from '../../runtime.ts';

/** Interval between checks for workspaces that have added their first webhook. */
const lookMs = 1000;

/** Runs a dispatcher for every workspace that has webhooks. */
export class Dispatchers {
  readonly #runtime: Runtime;
  readonly #running = new Map<string, Dispatcher>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  async start(): Promise<void> {
    await this.#look();
    this.#timer = setInterval(() => {
      // If the store is unavailable, the next check tries again.
      this.#looking = this.#look().catch(() => {});
    }, lookMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await Promise.all([...this.#running.values()].map((dispatcher) => dispatcher.stop()));
  }

  async #look(): Promise<void> {
    for (const id of await this.#runtime.workspaces.withWebhooks()) {
      if (this.#running.has(id)) continue;
      const dispatcher = this.#runtime.as({ workspace: id, member: 'local', role: 'admin' }).dispatcher();
      this.#running.set(id, dispatcher);
      await dispatcher.start();
    }
  }
}
