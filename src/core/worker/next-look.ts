import type { CancelTimer, Timekeeper } from '../ports/timekeeper.ts';

/** How often to check whether the other worker processes on this machine are alive. This does not use the store. */
const neighbourMs = 100;
/**
 * A lone worker has at most this many empty looks between two finds, because its own writes are hints too. More of them
 * mean that other workers take the work.
 */
const emptyLooksAlone = 6;
const longestDeafMs = 50;

/** Decides when a worker looks for work again. */
export class NextLook {
  readonly #clock: Timekeeper;
  /** Timers for work that is due later. */
  readonly #alarms = new Set<CancelTimer>();
  /** The number of empty looks since the last find. */
  #emptyLooks = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Whether a hint has already scheduled the next look. */
  #isHeard = false;
  #isWoken = false;
  #endRest: (() => void) | undefined;

  constructor(clock: Timekeeper) {
    this.#clock = clock;
  }

  /** Requests a look now. A request that comes before `rest` counts too. */
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
   * Every hint reaches all workers. A worker that repeatedly found nothing has faster ones beside it, so it ignores
   * hints for a while.
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

  /** Begins a look. Later hints may concern work that this look misses. Returns the time. */
  begin(): number {
    this.#isHeard = false;
    return this.#clock.elapsed();
  }

  end(begunAt: number, hasFound: boolean): void {
    this.#lookedAt = begunAt;
    this.#emptyLooks = hasFound ? 0 : this.#emptyLooks + 1;
  }

  /** Waits until woken, for at most `forMs`, or until a neighbour has died. */
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
