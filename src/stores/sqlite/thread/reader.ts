import type { EarlyReads } from './early-reads.ts';
import type { FirstReads } from './first-reads.ts';
import type { ValueOf } from './protocol.ts';
import type { ReaderOperations } from './serve-reads.ts';
import type { ThreadClient } from './thread-client.ts';

/**
 * Threads start this long after opening, unless a call needs them earlier. A short command has ended by then. The
 * event loop serves reads only for this long after the first one, because they block it.
 */
export const earlyMs = 50;

/**
 * The event loop's side of reading. A thread takes longer to start than a session takes to open, so the first reads
 * run on the event loop. A read that fails there is passed to the thread, which reports the error.
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
      this.#until = Number.NEGATIVE_INFINITY;
      return undefined;
    }
  }

  /**
   * Closes the early connection only after the thread's connection is open. Closing the last connection would run a
   * checkpoint on the event loop.
   */
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
