import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { ToolFailure } from '../../core/ports/tool.ts';
import { asFailure } from './file-failure.ts';
import type { Inside } from './inside.ts';

/** O_NONBLOCK, because opening a pipe without a writer would block forever. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens a regular file, passes it to `use` and closes it. */
export const withFile = async <T>(
  { real, name }: Inside,
  use: (file: FileHandle, size: number) => Promise<T>,
): Promise<T> => {
  const file = await open(real, flags).catch((error) => {
    throw asFailure(error, name);
  });
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) throw new ToolFailure(`${name} is a folder: use list`);
    if (!stats.isFile()) throw new ToolFailure(`${name} is not a regular file`);
    return await use(file, stats.size);
  } finally {
    await file.close();
  }
};
