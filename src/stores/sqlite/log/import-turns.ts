/**
 * An import keeps the writer's transaction open: meanwhile nothing else may be written. What is asked for then waits its turn, writes and
 * imports alike in the order in which they came, and each begins in the very tick in which its turn comes.
 */
export class ImportTurns {
  readonly #waiting: (() => void)[] = [];
  #isImporting = false;

  write<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#isImporting) return work();
    return new Promise((resolve) => this.#waiting.push(() => resolve(Promise.try(work))));
  }

  import<T>(work: () => Promise<T>): Promise<T> {
    return this.write(async () => {
      this.#isImporting = true;
      try {
        return await work();
      } finally {
        this.#isImporting = false;
        while (!this.#isImporting && this.#waiting.length > 0) this.#waiting.shift()!();
      }
    });
  }
}
