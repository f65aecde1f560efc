import { lstat, mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code;

interface Obstacle {
  readonly path: string;
  readonly kind: 'a file' | 'a link to nothing';
}

/** A file or a dangling link exists where a folder is needed. */
export class FileInTheWay extends Error {
  readonly code = 'ENOTDIR';
  readonly syscall = 'mkdir';

  constructor({ path, kind }: Obstacle, options: ErrorOptions) {
    super(`${path} is ${kind}, not a folder`, options);
  }
}

const isLinkToNothing = async (path: string, error: unknown): Promise<boolean> => {
  if (!isCode(error, 'ENOENT') && !isCode(error, 'ELOOP')) return false;
  return (await lstat(path).catch(() => undefined))?.isSymbolicLink() ?? false;
};

/** Finds the nearest existing file or link, at the path or above it, that is not a folder. */
const obstacleOn = async (path: string): Promise<Obstacle | undefined> => {
  try {
    return (await stat(path)).isDirectory() ? undefined : { path, kind: 'a file' };
  } catch (error) {
    if (await isLinkToNothing(path, error)) return { path, kind: 'a link to nothing' };
    return dirname(path) === path ? undefined : obstacleOn(dirname(path));
  }
};

const makeOne = async (folder: string, mode: number | undefined): Promise<void> => {
  try {
    await mkdir(folder, mode);
  } catch (cause) {
    const isInTheWay = ['EEXIST', 'ENOTDIR', 'ELOOP'].some((code) => isCode(cause, code));
    const obstacle = isInTheWay ? await obstacleOn(folder) : undefined;
    if (obstacle) throw new FileInTheWay(obstacle, { cause });
    if (!isCode(cause, 'EEXIST') || !(await stat(folder)).isDirectory()) throw cause;
  }
};

const make = async (folder: string, mode: number | undefined, modeAbove: number | undefined): Promise<void> => {
  try {
    await makeOne(folder, mode);
  } catch (error) {
    const above = dirname(folder);
    if (!isCode(error, 'ENOENT') || above === folder) throw error;
    await make(above, modeAbove, modeAbove);
    await makeOne(folder, mode);
  }
};

/**
 * Creates a folder with its parents. Node's `recursive` option is not used, because it loops forever in places such as
 * /proc.
 */
export const makeFolder = (folder: string, mode?: number): Promise<void> => make(resolve(folder), mode, mode);

/**
 * Creates a folder that only its user can access. Parents get the default mode, and an existing folder is not changed.
 */
export const makePrivateFolder = (folder: string): Promise<void> => make(resolve(folder), 0o700, undefined);
