/** What callers of a runtime still wait for. */
export class CallsUnderWay {
  readonly #calls = new Set<Promise<unknown>>();
  readonly #closing: AbortSignal;

  constructor(closing: AbortSignal) {
    this.#closing = closing;
  }

  /** Counts the call that this is the result of, until it has ended. Once the runtime closes, no more are counted: a caller who never stops would keep it open. */
  count<T>(result: T): T {
    if (!(result instanceof Promise) || this.#closing.aborted) return result;
    const done = () => this.#calls.delete(result);
    this.#calls.add(result);
    result.then(done, done);
    return result;
  }

  async settle(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
  }
}
