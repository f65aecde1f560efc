import { setTimeout as sleep } from 'node:timers/promises';
import { timerMs } from '../../schema/timer-limit.ts';

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
  /** Timers for work that is due later. */
  readonly #alarms = new Set<NodeJS.Timeout>();
  /** The number of empty looks since the last find. */
  #emptyLooks = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Whether a hint has already scheduled the next look. */
  #isHeard = false;
  #isWoken = false;
  #endRest: (() => void) | undefined;

  /** Requests a look now. A request that comes before `rest` counts too. */
  wake(): void {
    this.#isWoken = true;
    this.#endRest?.();
  }

  wakeIn(ms: number): void {
    const alarm = setTimeout(() => {
      this.#alarms.delete(alarm);
      this.wake();
    }, timerMs(ms)).unref();
    this.#alarms.add(alarm);
  }

  /**
   * Every hint reaches all workers. A worker that repeatedly found nothing has faster ones beside it, so it ignores
   * hints for a while.
   */
  hear(): void {
    if (this.#isHeard) return;
    const deafMs = Math.min(2 ** (this.#emptyLooks - emptyLooksAlone), longestDeafMs);
    const waitMs = deafMs - (performance.now() - this.#lookedAt);
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
    return performance.now();
  }

  end(begunAt: number, hasFound: boolean): void {
    this.#lookedAt = begunAt;
    this.#emptyLooks = hasFound ? 0 : this.#emptyLooks + 1;
  }

  /** Waits until woken, for at most `forMs`, or until a neighbour has died. */
  async rest(forMs: number, isNeighbourGone: () => boolean): Promise<void> {
    const woken = new AbortController();
    this.#endRest = () => woken.abort();
    const watch = setInterval(() => {
      if (isNeighbourGone()) this.wake();
    }, neighbourMs);
    watch.unref();
    if (!this.#isWoken) await sleep(forMs, undefined, { signal: woken.signal, ref: false }).catch(() => undefined);
    clearInterval(watch);
    this.#endRest = undefined;
    this.#isWoken = false;
  }

  /** Cancels all timers. */
  stop(): void {
    for (const alarm of this.#alarms) clearTimeout(alarm);
    this.#alarms.clear();
  }
}
