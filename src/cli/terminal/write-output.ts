import { existsSync, type Stats, statSync } from 'node:fs';
import { lstat, open, readlink, realpath, rename, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { withUnfinished } from '../../core/host/unfinished-files.ts';
import { PerdureError } from '../../schema/error.ts';
import { fileError } from '../parse/wrong-call.ts';

/** Fails if the file exists. `option` is the option that the message mentions for choosing another file. */
export const refuseToOverwrite = (file: string, option = '-o'): void => {
  if (!existsSync(file)) return;
  const problem = statSync(file).isDirectory()
    ? `is a folder: ${option} names a file`
    : `already exists: --force replaces it, ${option} names another`;
  throw new PerdureError('FILE_UNAVAILABLE', `${file} ${problem}`, { details: { file } });
};

type Chunks = AsyncIterable<Uint8Array>;

const ifThere = async <T>(asked: Promise<T>): Promise<T | undefined> =>
  asked.catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });

const writeInto = async (file: string, flags: 'w' | 'wx', chunks: Chunks, mode?: number): Promise<number> => {
  const handle = await open(file, flags, mode);
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      await handle.writeFile(chunk);
      bytes += chunk.length;
    }
    if (flags === 'wx') await handle.sync();
  } finally {
    await handle.close();
  }
  return bytes;
};

/** Writes a file that appears under its name only when it is complete and synced to disk. */
const writeWhole = async (file: string, chunks: Chunks, mode: number | undefined): Promise<number> => {
  const part = join(dirname(file), `.perdure-export-${process.pid}.part`);
  return withUnfinished([part], async () => {
    const bytes = await writeInto(part, 'wx', chunks, mode);
    await rename(part, file);
    return bytes;
  });
};

/** Target of a link, even if the target does not exist yet. For other files, the file itself. */
const targetOf = async (file: string, there: Stats | undefined): Promise<string> => {
  if (there) return realpath(file);
  const link = await ifThere(lstat(file));
  return link?.isSymbolicLink() ? resolve(dirname(file), await readlink(file)) : file;
};

/**
 * Replaces a file and keeps its mode. A link is kept, and its target is replaced. Anything but a regular file, such
 * as a named pipe, is written to directly.
 */
export const writeOutput = async (file: string, chunks: Chunks, newMode?: number): Promise<number> => {
  try {
    const there = await ifThere(stat(file));
    if (there && !there.isFile()) return await writeInto(file, 'w', chunks);
    return await writeWhole(await targetOf(file, there), chunks, there ? there.mode & 0o777 : newMode);
  } catch (error) {
    throw fileError(error, 'write', file);
  }
};
