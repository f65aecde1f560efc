import { wrapMethods } from '../access/wrap-methods.ts';

/** What callers of a runtime still wait for. */
export class CallsUnderWay {
  readonly #calls = new Set<Promise<unknown>>();
  readonly #closing: AbortSignal;

  constructor(closing: AbortSignal) {
    this.#closing = closing;
  }

  /** The same handle; its calls are waited for when the runtime closes. */
  of<Handle extends object>(handle: Handle): Handle {
    return wrapMethods(
      handle,
      (_, call) =>
        (...args) =>
          this.#count(call(...args)),
    );
  }

  async settle(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
  }

  /** Those that come when the runtime closes already are not waited for: it would never end beside one who calls on and on. */
  #count(result: unknown): unknown {
    if (!(result instanceof Promise) || this.#closing.aborted) return result;
    const done = () => this.#calls.delete(result);
    this.#calls.add(result);
    result.then(done, done);
    return result;
  }
}
