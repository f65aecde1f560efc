import { timerMs } from '../schema/timer-limit.ts';

/** Ends a request when its caller does, or when nothing has come for a while. */
export interface StallGuard {
  readonly signal: AbortSignal;
  readonly stalled: boolean;
  /** Rejects when the guard ends the request, also where a provider does not listen to the signal. */
  race<T>(promise: PromiseLike<T>): Promise<T>;
  /** Something came. */
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
