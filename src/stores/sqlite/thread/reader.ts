import type { EarlyReads } from './early-reads.ts';
import type { FirstReads } from './first-reads.ts';
import type { ValueOf } from './protocol.ts';
import type { ReaderOperations } from './serve-reads.ts';
import type { ThreadClient } from './thread-client.ts';

/**
 * Threads start so long after opening, unless they are needed before: a command of a moment is over by then. And so long after the first
 * of them reads may be done on the event loop, which may turn to nothing else until then.
 */
export const earlyMs = 50;

/**
 * The event loop's side of reading. A thread takes longer to begin than a session takes to open: what is asked for in the first moment
 * is read here. What fails here is asked of the thread, which tells why.
 */
export class Reader {
  readonly #thread: ThreadClient<ReaderOperations>;
  #early: EarlyReads | undefined;
  #until: number | undefined;
  #starting: NodeJS.Timeout | undefined;

  constructor(thread: ThreadClient<ReaderOperations>, early: EarlyReads | undefined) {
    this.#thread = thread;
    this.#early = early;
  }

  async open(): Promise<void> {
    if (!this.#early) return this.#thread.call('open', []);
    this.#starting = setTimeout(() => this.#handOver(), earlyMs).unref();
  }

  async call<Op extends keyof ReaderOperations>(
    op: Op,
    args: Parameters<ReaderOperations[Op]>,
  ): Promise<ValueOf<ReaderOperations[Op]>> {
    const read = this.#early?.operations[op as keyof FirstReads] as
      | ((...args: unknown[]) => { readonly value: never })
      | undefined;
    const found = read && this.#readHere(() => read(...args));
    return found ? found.value : this.#thread.call(op, args);
  }

  async close(): Promise<void> {
    this.#endEarly();
    await this.#thread.close(() => this.#thread.call('close', []));
  }

  async stop(): Promise<void> {
    this.#endEarly();
    await this.#thread.stop();
  }

  #readHere<T>(read: () => T): T | undefined {
    this.#until ??= performance.now() + earlyMs;
    if (performance.now() > this.#until) return undefined;
    try {
      return read();
    } catch {
      this.#until = 0;
      return undefined;
    }
  }

  /** The early connection is closed when another is open, so that it is not the last one, which would tidy up. */
  #handOver(): void {
    const end = () => this.#endEarly();
    this.#thread.call('open', []).then(end, end);
  }

  #endEarly(): void {
    clearTimeout(this.#starting);
    this.#early?.close();
    this.#early = undefined;
  }
}
