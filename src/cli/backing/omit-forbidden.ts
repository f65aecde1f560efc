import { isPerdureError } from '../../schema/error.ts';

/**
 * Returns undefined instead of failing when the key does not permit the request. For additional information that can
 * be left out.
 */
export const omitForbidden = async <T>(asked: Promise<T>): Promise<T | undefined> => {
  try {
    return await asked;
  } catch (error) {
    if (isPerdureError(error, 'FORBIDDEN')) return undefined;
    throw error;
  }
};
