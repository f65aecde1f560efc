import { PerdureError } from '../../schema/error.ts';

/** Where times come from, so that tests can bring their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** What an id has room for; the year 10889. */
const lastMs = 2 ** 48 - 1;

/** Whole milliseconds, as logs and ids keep them. A time that is none is refused before anything is made by it. */
export const checkedClock = (clock: Clock): Clock => ({
  now: () => {
    const ms = Math.trunc(clock.now());
    if (ms >= 0 && ms <= lastMs) return ms;
    throw new PerdureError(
      'INVALID_INPUT',
      `the clock says ${ms}, which is no time: let it give milliseconds since 1970`,
    );
  },
});
