/**
 * An import keeps the writer's transaction open, so nothing else may be written meanwhile. Writes and imports that
 * arrive meanwhile wait in order of arrival. They start in the same tick in which the import ends, up to the next
 * import.
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
