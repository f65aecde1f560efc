import { FileInTheWay } from '../core/make-folder.ts';
import { PerdureError } from '../schema/error.ts';

/** The call itself cannot be right, whatever the store holds. */
export const wrongCall = (message: string): PerdureError => new PerdureError('INVALID_INPUT', message);

export const onStoreAlone = (what: string): PerdureError =>
  wrongCall(`${what} works on a store itself, and not with a server: call it where the store is`);

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is no folder',
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
};

/** What the file system says about a file that the call names; anything else stays as it is. */
export const fileError = (error: unknown, verb: 'read' | 'write', file: string): unknown => {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (!code || !syscall) return error;
  const { message } = error as Error;
  const why = error instanceof FileInTheWay ? message : (reasons[code] ?? message);
  return new PerdureError('FILE_UNAVAILABLE', `cannot ${verb} ${file}: ${why}`, {
    details: { file, errno: code },
    cause: error,
  });
};
