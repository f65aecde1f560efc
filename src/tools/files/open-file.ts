import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { ToolFailure } from '../../core/ports/tool.ts';
import { asFailure } from './file-failure.ts';
import { type Place, withPlace } from './held-place.ts';
import { maxSearchedBytes } from './search-request.ts';

/** O_NONBLOCK, because opening a pipe without a writer would block forever. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens the file at a path in a held folder, passes it to `use` and closes it. Fails if the file is not regular. */
export const withFileAt = async <T>(path: string, use: (file: FileHandle, size: number) => Promise<T>): Promise<T> => {
  await using file = await open(path, flags);
  const stats = await file.stat();
  if (!stats.isFile()) throw new ToolFailure('not a regular file');
  return use(file, stats.size);
};

/** Opens a regular file, passes it to `use` and closes it. */
export const withFile = async <T>(place: Place, use: (file: FileHandle, size: number) => Promise<T>): Promise<T> => {
  const { name } = place;
  const file = await withPlace(place, (path) => open(path, flags)).catch((error) => {
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

/** The content of a file for a search. Undefined if it is too large. */
export const searchedBytes = (root: string, name: string): Promise<Buffer | undefined> =>
  withFile({ root, name }, async (file, size) => (size > maxSearchedBytes ? undefined : file.readFile()));
