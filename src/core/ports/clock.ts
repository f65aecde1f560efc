import { PerdureError } from '../../schema/error.ts';

/** The source of the current time, so that tests can inject their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** The largest time that fits into an id, in the year 10889. */
const lastMs = 2 ** 48 - 1;

/**
 * Wraps a clock. Truncates its times to whole milliseconds, as logs and ids store them. Rejects an invalid time before
 * an id or event is created with it.
 */
export const checkedClock = (clock: Clock): Clock => ({
  now: () => {
    const ms = Math.trunc(clock.now());
    if (ms >= 0 && ms <= lastMs) return ms;
    throw new PerdureError(
      'INVALID_INPUT',
      `the clock returned ${ms}, which is not a valid time: make it return milliseconds since 1970`,
    );
  },
});
