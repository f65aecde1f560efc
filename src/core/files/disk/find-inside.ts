import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { nameProblem } from '../path.ts';

/** A path that was found to lie in a worktree. */
export interface Inside {
  /** Every symbolic link resolved. */
  readonly real: string;
  /** As the session calls it: from its worktree, with slashes; `.` is the worktree itself. */
  readonly name: string;
}

/** The folder itself too. */
export const isWithin = (root: string, path: string): boolean => {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Also of what does not exist yet: its nearest parent is resolved. A link that leads nowhere could lead anywhere later. */
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

/** What a path names within a folder, however it is written; or why it is refused: it leaves it, by `..`, as an absolute path or through a link. */
export const findInside = async (folder: string, path: string): Promise<Inside | { readonly problem: string }> => {
  const outside = { problem: "is outside of the session's folder: give a path within it" };
  if (path.includes('\0')) return { problem: 'has a character that no name can have' };
  const root = await realpath(folder);
  const fromRoot = isAbsolute(path) && isWithin(folder, path) ? relative(folder, path) : path;
  const wanted = resolve(root, fromRoot);
  if (!isWithin(root, wanted)) return outside;
  const real = await realOf(wanted);
  if (real === undefined) return { problem: 'is a symbolic link that leads nowhere' };
  if (!isWithin(root, real)) return outside;
  const segments = [relative(root, wanted), relative(root, real)].flatMap((way) => (way === '' ? [] : way.split(sep)));
  const problem = segments.map((segment) => nameProblem(segment)).find((each) => each !== undefined);
  return problem ? { problem } : { real, name: relative(root, real).split(sep).join('/') || '.' };
};
