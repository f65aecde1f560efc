import { PerdureError } from '../schema/error.ts';

/** The error of a verb that works only in the process or on the machine of the store. */
export const localOnly = (what: string, instead: string): PerdureError =>
  new PerdureError('INVALID_INPUT', `${what} does not work over a server: ${instead}`);
