import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ToolFailure } from '../../core/ports/tool.ts';
import { asFailure } from './file-failure.ts';

/** A path that was found to lie in the session's folder. */
export interface Inside {
  /** Every symbolic link resolved. */
  readonly real: string;
  /** As the session calls it: from its folder, with slashes; `.` is the folder itself. */
  readonly name: string;
}

/** Where the runtime keeps its own: other sessions, and other workspaces. */
const ownFolder = '.perdure';

const isWithin = (root: string, path: string): boolean => {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Also of what does not exist yet: its nearest parent is resolved. A link that leads nowhere could lead anywhere later. */
const realOf = async (path: string, asked: string): Promise<string> => {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(await realpath(at), ...missing);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || at === dirname(at)) throw asFailure(error, asked);
      if (await exists(at)) throw new ToolFailure(`${asked} is a symbolic link that leads nowhere`);
      missing.unshift(basename(at));
    }
  }
};

/** Refuses what leaves the folder: by `..`, as an absolute path, or through a symbolic link. */
export const findInside = async (folder: string, path: string): Promise<Inside> => {
  const outside = () => new ToolFailure(`${path} is outside of the session's folder: give a path within it`);
  const root = await realpath(folder);
  const fromRoot = isAbsolute(path) && isWithin(folder, path) ? relative(folder, path) : path;
  const wanted = resolve(root, fromRoot);
  if (!isWithin(root, wanted)) throw outside();
  const real = await realOf(wanted, path);
  if (!isWithin(root, real)) throw outside();
  const segments = relative(root, real).split(sep);
  if (segments.some((each) => each.toLowerCase() === ownFolder)) {
    throw new ToolFailure(`${path} belongs to the runtime and is not for tools`);
  }
  return { real, name: segments.join('/') || '.' };
};
