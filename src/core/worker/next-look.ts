import { setTimeout as sleep } from 'node:timers/promises';
import { timerMs } from '../../schema/timer-limit.ts';

/** How often the processes of this machine that are at work are looked at; no store is asked for it. */
const neighbourMs = 100;
/** A worker that is alone finds nothing so often at most, between two finds: what it writes itself is a hint too. */
const emptyLooksAlone = 6;
const longestDeafMs = 50;

/** When a worker looks for work again. */
export class NextLook {
  /** For what is due later. */
  readonly #alarms = new Set<NodeJS.Timeout>();
  /** Looks that found nothing, since one found something. */
  #emptyLooks = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** It will come because of a hint. */
  #isHeard = false;
  #isWoken = false;
  #endRest: (() => void) | undefined;

  /** Now; also heard when it comes before the rest. */
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

  /** A hint comes to all workers. Who found nothing again and again has others beside it that find it, and does not look for each. */
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

  /** It looks now: hints from here on are of what it may not see. Gives the time. */
  begin(): number {
    this.#isHeard = false;
    return performance.now();
  }

  end(begunAt: number, hasFound: boolean): void {
    this.#lookedAt = begunAt;
    this.#emptyLooks = hasFound ? 0 : this.#emptyLooks + 1;
  }

  /** Until it is woken, for so long at most, or until a neighbour is gone. */
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

  /** No alarm rings any more. */
  stop(): void {
    for (const alarm of this.#alarms) clearTimeout(alarm);
    this.#alarms.clear();
  }
}
