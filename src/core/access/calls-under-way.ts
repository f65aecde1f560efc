/** The calls in flight on a runtime. */
export class CallsUnderWay {
  readonly #calls = new Set<Promise<unknown>>();
  readonly #closing: AbortSignal;

  constructor(closing: AbortSignal) {
    this.#closing = closing;
  }

  /**
   * Counts a call as in flight until its result settles. Once the runtime closes, new calls are not counted, because a
   * caller that keeps calling would keep the runtime open.
   */
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
