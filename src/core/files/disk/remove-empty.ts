import { rmdirSync } from 'node:fs';

/** Removes an empty folder. Returns false if it still holds something. */
export const removeEmpty = (folder: string): boolean => {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
};
