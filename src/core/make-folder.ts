import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code;

/** A file stands where a folder is needed. */
export class FileInTheWay extends Error {
  readonly code = 'ENOTDIR';
  readonly syscall = 'mkdir';

  constructor(file: string, options: ErrorOptions) {
    super(`${file} is a file, not a folder`, options);
  }
}

/** Of a path and those above it, what is there and no folder. */
const fileOn = async (path: string): Promise<string | undefined> => {
  const found = await stat(path).catch(() => undefined);
  if (found) return found.isDirectory() ? undefined : path;
  return dirname(path) === path ? undefined : fileOn(dirname(path));
};

const makeOne = async (folder: string, mode: number | undefined): Promise<void> => {
  try {
    await mkdir(folder, mode);
  } catch (cause) {
    const isInTheWay = isCode(cause, 'EEXIST') || isCode(cause, 'ENOTDIR');
    const file = isInTheWay ? await fileOn(folder) : undefined;
    if (file !== undefined) throw new FileInTheWay(file, { cause });
    if (!isCode(cause, 'EEXIST') || !(await stat(folder)).isDirectory()) throw cause;
  }
};

const make = async (folder: string, mode: number | undefined): Promise<void> => {
  try {
    await makeOne(folder, mode);
  } catch (error) {
    const above = dirname(folder);
    if (!isCode(error, 'ENOENT') || above === folder) throw error;
    await make(above, mode);
    await makeOne(folder, mode);
  }
};

/** With those above it. Node's own way, `recursive`, asks without end below a folder that takes none, such as /proc. */
export const makeFolder = (folder: string, mode?: number): Promise<void> => make(resolve(folder), mode);
