import type { PerdureError } from '../../src/index.ts';

/** Returns the error of work that is expected to fail. */
export const failureOf = async (work: Promise<unknown> | (() => unknown)): Promise<PerdureError> => {
  try {
    await (typeof work === 'function' ? work() : work);
  } catch (error) {
    return error as PerdureError;
  }
  throw new Error('expected the work to fail, but it succeeded');
};
