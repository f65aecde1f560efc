/** Runs one task after another, in the order of the calls. A failed task rejects only its own caller's promise. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  /** Waits for all tasks that were queued so far. */
  async settle(): Promise<void> {
    await this.#last;
  }
}

/** A mutex for each key. A key without tasks uses no memory. */
export class KeyedMutex<Key> {
  readonly #last = new Map<Key, Promise<unknown>>();

  run<T>(key: Key, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled: Promise<unknown> = mine
      .catch(() => undefined)
      .then(() => {
        if (this.#last.get(key) === settled) this.#last.delete(key);
      });
    this.#last.set(key, settled);
    return mine;
  }

  /** Waits for all tasks that were queued so far. */
  async settle(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
