import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code;

const makeOne = async (folder: string, mode: number | undefined): Promise<void> => {
  try {
    await mkdir(folder, mode);
  } catch (error) {
    if (!isCode(error, 'EEXIST') || !(await stat(folder)).isDirectory()) throw error;
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
