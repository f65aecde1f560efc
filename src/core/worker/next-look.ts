import type { CancelTimer, Timekeeper } from '../ports/timekeeper.ts';

/** How often to check whether the other worker processes on this machine are alive. This does not use the store. */
const neighbourMs = 100;
/**
 * The maximum number of polls without a result that a lone worker makes between two results, because its own writes
 * are hints too. More such polls mean that other workers claim the work.
 */
const emptyLooksAlone = 6;
const longestDeafMs = 50;

/** Decides when a worker polls for work again. */
export class NextLook {
  readonly #clock: Timekeeper;
  /** Timers for work that is due later. */
  readonly #alarms = new Set<CancelTimer>();
  /** The number of polls without a result since the last poll that found work. */
  #emptyLooks = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Whether a hint has already scheduled the next poll. */
  #isHeard = false;
  #isWoken = false;
  #endRest: (() => void) | undefined;

  constructor(clock: Timekeeper) {
    this.#clock = clock;
  }

  /** Requests a poll now. A request before `rest` is not lost. */
  wake(): void {
    this.#isWoken = true;
    this.#endRest?.();
  }

  wakeIn(ms: number): void {
    const cancel = this.#clock.after(ms, () => {
      this.#alarms.delete(cancel);
      this.wake();
    });
    this.#alarms.add(cancel);
  }

  /**
   * Handles a hint. Every hint reaches all workers. If this worker repeatedly found no work, other workers are faster,
   * so it ignores hints for a while.
   */
  hear(): void {
    if (this.#isHeard) return;
    const deafMs = Math.min(2 ** (this.#emptyLooks - emptyLooksAlone), longestDeafMs);
    const waitMs = deafMs - (this.#clock.elapsed() - this.#lookedAt);
    if (waitMs <= 0) {
      this.wake();
      return;
    }
    this.#isHeard = true;
    this.wakeIn(waitMs);
  }

  /** Begins a poll. Hints that arrive later may concern work that this poll misses. Returns the current time. */
  begin(): number {
    this.#isHeard = false;
    return this.#clock.elapsed();
  }

  end(begunAt: number, hasFound: boolean): void {
    this.#lookedAt = begunAt;
    this.#emptyLooks = hasFound ? 0 : this.#emptyLooks + 1;
  }

  /** Waits until `wake` is called, until `forMs` is over, or until a neighbouring worker has died. */
  async rest(forMs: number, isNeighbourGone: () => boolean): Promise<void> {
    const woken = new AbortController();
    this.#endRest = () => woken.abort();
    const stopWatching = this.#clock.every(neighbourMs, () => {
      if (isNeighbourGone()) this.wake();
    });
    if (!this.#isWoken) await this.#clock.sleep(forMs, { signal: woken.signal, keepsAlive: false });
    stopWatching();
    this.#endRest = undefined;
    this.#isWoken = false;
  }

  /** Cancels all timers. */
  stop(): void {
    for (const cancel of this.#alarms) cancel();
    this.#alarms.clear();
  }
}
