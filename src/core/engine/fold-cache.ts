/** A fold takes this much memory besides its content. */
const entryBytes = 4096;

/** A fold with its estimated size as JSON, and the bytes of the payloads since its last snapshot. */
export interface SizedFold {
  readonly size: number;
  readonly bytes: number;
}

export interface FoldCacheLimits {
  readonly sessions: number;
  /** Measured as JSON. In memory, a fold takes several times as much. */
  readonly bytes: number;
}

/**
 * The newest folds of sessions in use, bounded by number and by size. When it is full, the fold that was set longest ago
 * is evicted. The fold that was set last stays, however large it is, because its session is in use.
 */
export class FoldCache<Fold extends SizedFold> {
  readonly #limits: FoldCacheLimits;
  readonly #folds = new Map<string, Fold>();
  #bytes = 0;

  constructor(limits: FoldCacheLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#folds.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(name: string): Fold | undefined {
    return this.#folds.get(name);
  }

  set(name: string, fold: Fold): void {
    this.delete(name);
    this.#folds.set(name, fold);
    this.#bytes += fold.size + entryBytes;
    for (const oldest of this.#folds.keys()) {
      const isOver = this.#folds.size > this.#limits.sessions || this.#bytes > this.#limits.bytes;
      if (!isOver || oldest === name) return;
      this.delete(oldest);
    }
  }

  /** Corrects the size of a fold, which is an estimate until the fold was encoded. */
  measure(name: string, bytes: number): void {
    const fold = this.#folds.get(name);
    if (!fold) return;
    const size = bytes + fold.bytes;
    this.#bytes += size - fold.size;
    this.#folds.set(name, { ...fold, size });
  }

  delete(name: string): void {
    const fold = this.#folds.get(name);
    if (!fold) return;
    this.#folds.delete(name);
    this.#bytes -= fold.size + entryBytes;
  }

  clear(): void {
    this.#folds.clear();
    this.#bytes = 0;
  }
}
