import { PerdureError } from '../schema/error.ts';
import { timerMs } from '../schema/timer-limit.ts';

/** A time as a timer and an engine take it; who waits for longer than they can count waits that long. */
export const checkMs = (name: string, ms: number, least = 1): number => {
  if (Number.isInteger(ms) && ms >= least) return timerMs(ms);
  throw new PerdureError('INVALID_INPUT', `${name} is a whole number of milliseconds from ${least} on; got "${ms}"`);
};
