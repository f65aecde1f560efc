import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { nameProblem } from '../path.ts';

/** A path that is inside a worktree. */
export interface Inside {
  /** The worktree's folder, with every symbolic link resolved. */
  readonly root: string;
  /** The absolute path with every symbolic link resolved. */
  readonly real: string;
  /** The path relative to the worktree, with slashes. `.` is the worktree itself. */
  readonly name: string;
}

/** Whether a path is inside a folder or is the folder itself. */
export const isWithin = (root: string, path: string): boolean => {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/**
 * Resolves all links of a path, which need not exist yet. Returns undefined for a dangling link, which could later
 * lead anywhere.
 */
const realOf = async (path: string): Promise<string | undefined> => {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(await realpath(at), ...missing);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || at === dirname(at)) throw error;
      if (await exists(at)) return undefined;
      missing.unshift(basename(at));
    }
  }
};

/**
 * Resolves a path within a folder, in any notation. Rejects a path that leaves the folder by `..`, as an absolute path
 * or through a link. A command may put a link there afterwards, so open the result only through `holdFolder`.
 */
export const findInside = async (folder: string, path: string): Promise<Inside | { readonly problem: string }> => {
  const outside = { problem: "is outside the session's folder: use a path inside it" };
  if (path.includes('\0')) return { problem: 'has a character that is not allowed in names' };
  const root = await realpath(folder);
  const fromRoot = isAbsolute(path) && isWithin(folder, path) ? relative(folder, path) : path;
  const wanted = resolve(root, fromRoot);
  if (!isWithin(root, wanted)) return outside;
  const real = await realOf(wanted);
  if (real === undefined) return { problem: 'is a dangling symbolic link' };
  if (!isWithin(root, real)) return outside;
  const segments = [relative(root, wanted), relative(root, real)].flatMap((way) => (way === '' ? [] : way.split(sep)));
  const problem = segments.map((segment) => nameProblem(segment)).find((each) => each !== undefined);
  return problem ? { problem } : { root, real, name: relative(root, real).split(sep).join('/') || '.' };
};
