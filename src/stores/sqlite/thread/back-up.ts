import { randomUUID } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { fileProblem } from '../../../core/host/file-problem.ts';
import { withUnfinished } from '../../../core/host/unfinished-files.ts';
import { PerdureError } from '../../../schema/error.ts';
import { storeFailure } from '../file/store-error.ts';
import type { BackUpOperations } from './serve-back-up.ts';
import { ThreadClient } from './thread-client.ts';

const entry = new URL(`./thread${extname(import.meta.url)}`, import.meta.url);
const busyTimeoutMs = 10_000;

const isThere = (target: string): PerdureError =>
  new PerdureError('FILE_UNAVAILABLE', `${target} already exists: name a new file`, { details: { file: target } });

const unwritable = (error: unknown, target: string): unknown => {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (!syscall) return error;
  if (code === 'EEXIST') return isThere(target);
  return new PerdureError('FILE_UNAVAILABLE', `cannot write ${target}: ${fileProblem(error)}`, {
    details: { file: target },
    cause: error,
  });
};

/** Creates the file for its user alone, and fails if it exists. */
const claim = async (path: string): Promise<void> => (await open(path, 'wx', 0o600)).close();

/** Syncs to the disk and returns the size, which is meaningless for a folder. */
const sync = async (path: string): Promise<number> => {
  await using handle = await open(path, 'r');
  await handle.sync();
  return (await handle.stat()).size;
};

const copyInto = async (file: string, part: string, target: string): Promise<void> => {
  const lost = (cause: unknown) =>
    storeFailure('STORE_UNAVAILABLE', file, 'the thread that was copying it ended', { cause, advice: 'try again' });
  const thread = new ThreadClient<BackUpOperations>({ entry, data: { file, busyTimeoutMs, role: 'backUp' }, lost });
  try {
    await thread.call('copyInto', [part, target]);
  } finally {
    await thread.stop();
  }
};

/** Claims the name first, because a rename alone would overwrite a file that appeared meanwhile. */
const putInPlace = async (part: string, target: string): Promise<void> => {
  await claim(target);
  try {
    await rename(part, target);
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  }
  await sync(dirname(resolve(target)));
};

/**
 * Copies a consistent snapshot of a store into a new file. The file gets its name only when it is complete and
 * synced. Returns its size.
 */
export const backUpSqlite = async (file: string, target: string): Promise<number> => {
  if (lstatSync(target, { throwIfNoEntry: false })) throw isThere(target);
  const part = `${target}.${randomUUID()}.part`;
  try {
    return await withUnfinished([part, `${part}-journal`], async () => {
      await claim(part);
      await copyInto(resolve(file), part, target);
      const bytes = await sync(part);
      await putInPlace(part, target);
      return bytes;
    });
  } catch (error) {
    throw unwritable(error, target);
  }
};
