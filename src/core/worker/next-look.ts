import type { CancelTimer, Timekeeper } from '../ports/timekeeper.ts';

/** How often the processes of this machine that are at work are looked at; no store is asked for it. */
const neighbourMs = 100;
/** A worker that is alone finds nothing so often at most, between two finds: what it writes itself is a hint too. */
const emptyLooksAlone = 6;
const longestDeafMs = 50;

/** When a worker looks for work again. */
export class NextLook {
  readonly #clock: Timekeeper;
  /** For what is due later. */
  readonly #alarms = new Set<CancelTimer>();
  /** Looks that found nothing, since one found something. */
  #emptyLooks = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** It will come because of a hint. */
  #isHeard = false;
  #isWoken = false;
  #endRest: (() => void) | undefined;

  constructor(clock: Timekeeper) {
    this.#clock = clock;
  }

  /** Now; also heard when it comes before the rest. */
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

  /** A hint comes to all workers. Who found nothing again and again has others beside it that find it, and does not look for each. */
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

  /** It looks now: hints from here on are of what it may not see. Gives the time. */
  begin(): number {
    this.#isHeard = false;
    return this.#clock.elapsed();
  }

  end(begunAt: number, hasFound: boolean): void {
    this.#lookedAt = begunAt;
    this.#emptyLooks = hasFound ? 0 : this.#emptyLooks + 1;
  }

  /** Until it is woken, for so long at most, or until a neighbour is gone. */
  async rest(forMs: number, isNeighbourGone: () => boolean): Promise<void> {
    const woken = new AbortController();
    this.#endRest = () => woken.abort();
    const stopWatching = this.#clock.every(neighbourMs, () => {
      if (isNeighbourGone()) this.wake();
    });
    if (!this.#isWoken) await this.#clock.sleep(forMs, { signal: woken.signal });
    stopWatching();
    this.#endRest = undefined;
    this.#isWoken = false;
  }

  /** No alarm rings any more. */
  stop(): void {
    for (const cancel of this.#alarms) cancel();
    this.#alarms.clear();
  }
}
