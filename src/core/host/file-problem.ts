import { FileInTheWay } from './make-folder.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is no folder',
  ELOOP: 'its links go round in a circle',
  ENAMETOOLONG: 'its name is too long',
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
};

/** What the file system says about a file or a folder, in words. */
export const fileProblem = (error: unknown): string => {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return error instanceof FileInTheWay ? message : (reasons[code] ?? message);
};
