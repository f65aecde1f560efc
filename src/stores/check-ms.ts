import { PerdureError } from '../schema/error.ts';
import { timerMs } from '../schema/timer-limit.ts';

/** Validates a duration, and caps it at the longest one that timers and database engines support. */
export const checkMs = (name: string, ms: number, least = 1): number => {
  if (Number.isInteger(ms) && ms >= least) return timerMs(ms);
  throw new PerdureError(
    'INVALID_INPUT',
    `${name} must be a whole number of milliseconds, at least ${least}; got "${ms}"`,
  );
};
