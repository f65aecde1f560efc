import { isPerdureError } from '../../schema/error.ts';

/** What is told beside an answer, and left out where a key is not for it. */
export const omitForbidden = async <T>(asked: Promise<T>): Promise<T | undefined> => {
  try {
    return await asked;
  } catch (error) {
    if (isPerdureError(error, 'FORBIDDEN')) return undefined;
    throw error;
  }
};
