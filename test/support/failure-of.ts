import type { PerdureError } from '../../src/index.ts';

/** How work fails that must. */
export const failureOf = async (work: Promise<unknown> | (() => unknown)): Promise<PerdureError> => {
  try {
    await (typeof work === 'function' ? work() : work);
  } catch (error) {
    return error as PerdureError;
  }
  throw new Error('it did not fail');
};
