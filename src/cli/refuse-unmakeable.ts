import { existsSync } from 'node:fs';
import { mkdir, rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { PerdureError } from '../schema/error.ts';

const topmostMissing = (folder: string): string | undefined => {
  let missing: string | undefined;
  for (let path = resolve(folder); !existsSync(path); path = dirname(path)) missing = path;
  return missing;
};

/**
 * Fails where a folder cannot be made, and leaves none behind. Node asks without end when it is to make folders below one that takes none,
 * such as /proc.
 */
export const refuseUnmakeable = async (folder: string): Promise<void> => {
  const missing = topmostMissing(folder);
  if (missing === undefined) return;
  try {
    await mkdir(missing);
    await rmdir(missing);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new PerdureError(
      'FILE_UNAVAILABLE',
      `cannot write ${folder}: no folder can be made in ${dirname(missing)} (${code}); name another`,
      { details: { file: folder, errno: code ?? null }, cause },
    );
  }
};
