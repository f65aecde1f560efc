import { isPerdureError } from '../../schema/error.ts';

/** For additional information, which is left out when the key does not allow it. */
export const omitForbidden = async <T>(asked: Promise<T>): Promise<T | undefined> => {
  try {
    return await asked;
  } catch (error) {
    if (isPerdureError(error, 'FORBIDDEN')) return undefined;
    throw error;
  }
};
