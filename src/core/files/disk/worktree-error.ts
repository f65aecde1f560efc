import { realpathSync } from 'node:fs';
import { isPerdureError, PerdureError } from '../../../schema/error.ts';
import { fileProblem } from '../../host/file-problem.ts';

const worktreeError = (error: unknown, folder: string): unknown => {
  const { code, path = folder } = error as NodeJS.ErrnoException;
  if (isPerdureError(error) || typeof code !== 'string') return error;
  const place = path === folder ? '' : `${path}: `;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new PerdureError(
    isFull ? 'STORE_FULL' : 'FILE_UNAVAILABLE',
    `the worktree ${folder} cannot be ${isFull ? 'written: make room on its disk' : `used: ${place}${fileProblem(error)}`}`,
    { details: { folder, errno: code }, cause: error },
  );
};

/** Runs the work, and converts its file system errors into errors about the worktree. */
export const asWorktreeError = async <T>(folder: string, work: () => T | Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw worktreeError(error, folder);
  }
};

export const realFolder = (folder: string): string => {
  try {
    return realpathSync(folder);
  } catch (error) {
    throw worktreeError(error, folder);
  }
};

/** The error for a concurrent change. The work done so far is valid, and another restore finishes it. */
export const changedMeanwhile = (path: string, cause?: unknown): PerdureError =>
  new PerdureError('CONFLICT', `another process changed ${path} meanwhile: try again`, {
    details: { path },
    cause,
  });
