import { PerdureError } from '../schema/error.ts';

/** For what needs the process or the machine that has the store. */
export const localOnly = (what: string, instead: string): PerdureError =>
  new PerdureError('INVALID_INPUT', `${what} does not work over a server: ${instead}`);
