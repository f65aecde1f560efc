import { rmdirSync } from 'node:fs';

/** Whether the folder is gone: one that still holds something stays. */
export const removeEmpty = (folder: string): boolean => {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
};
