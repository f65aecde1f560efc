import { type HeldFolder, holdFolder } from '../../core/files/disk/held-folder.ts';
import { ToolFailure } from '../../core/ports/tool.ts';
import type { Inside } from './inside.ts';

export type Place = Pick<Inside, 'root' | 'name'>;

/** The path has no link when it is found, so a link in it was put there since. */
const isLinked = (error: unknown): boolean =>
  ['ELOOP', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

/**
 * Holds the folder of a place, and passes the path of the place in it to `use`. A command that runs meanwhile can
 * exchange any part of a path with a link, so a tool that opens a path by its name could leave the session's folder.
 */
export const withPlace = async <T>(
  { root, name }: Place,
  use: (path: string, folder: HeldFolder) => Promise<T>,
  makes = false,
): Promise<T> => {
  const segments = name === '.' ? [] : name.split('/');
  const last = segments.pop() ?? '.';
  let folder: HeldFolder;
  try {
    folder = holdFolder(root, segments, makes);
  } catch (error) {
    if (isLinked(error)) throw new ToolFailure(`a folder of ${name} was moved meanwhile: try again`, { cause: error });
    throw error;
  }
  try {
    return await use(folder.at(last), folder);
  } finally {
    folder.close();
  }
};
