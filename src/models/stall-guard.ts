import { timerMs } from '../schema/timer-limit.ts';

/** Aborts a request when its caller aborts, or when nothing arrives for too long. */
export interface StallGuard {
  readonly signal: AbortSignal;
  readonly stalled: boolean;
  /**
   * Settles like the promise, but rejects when the guard aborts the request, even if the provider ignores the abort
   * signal.
   */
  race<T>(promise: PromiseLike<T>): Promise<T>;
  /** Restarts the timer, because something arrived. */
  touch(): void;
  end(): void;
}

export const guardAgainstStall = (stallMs: number, caller: AbortSignal): StallGuard => {
  const stall = new AbortController();
  const signal = AbortSignal.any([caller, stall.signal]);
  const timer = setTimeout(() => stall.abort(), timerMs(stallMs));
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {});
  const reject = () => aborted.reject(signal.reason);
  if (signal.aborted) reject();
  else signal.addEventListener('abort', reject, { once: true });
  return {
    signal,
    get stalled() {
      return stall.signal.aborted;
    },
    race: (promise) => Promise.race([promise, aborted.promise]),
    touch: () => timer.refresh(),
    end: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', reject);
    },
  };
};
