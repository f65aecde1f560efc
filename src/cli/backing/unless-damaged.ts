import { isPerdureError } from '../../schema/error.ts';

/** Returns a fallback for a value that a damaged session no longer has. */
export const unlessDamaged = async <T, F>(read: Promise<T>, fallback: F): Promise<T | F> => {
  try {
    return await read;
  } catch (error) {
    if (isPerdureError(error, 'EVENT_DAMAGED')) return fallback;
    throw error;
  }
};
