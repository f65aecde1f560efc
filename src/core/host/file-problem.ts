import { FileInTheWay } from './make-folder.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'its name is too long',
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
};

/** Describes a file system error in plain words. */
export const fileProblem = (error: unknown): string => {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return error instanceof FileInTheWay ? message : (reasons[code] ?? message);
};
