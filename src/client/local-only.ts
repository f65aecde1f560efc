import { PerdureError } from '../schema/error.ts';

/** For verbs that need the process or the machine of the store. */
export const localOnly = (what: string, instead: string): PerdureError =>
  new PerdureError('INVALID_INPUT', `${what} does not work over a server: ${instead}`);
