import { ToolFailure } from '../../core/ports/tool.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'cannot be: a part of the path is a file, not a folder',
  EISDIR: 'is a folder',
  EACCES: 'may not be accessed',
  EPERM: 'may not be accessed',
  ELOOP: 'goes through symbolic links in a circle',
  ENAMETOOLONG: 'is too long a path',
  ENOSPC: 'cannot be written: the disk is full',
  EROFS: 'cannot be written: the disk is read-only',
};

/** What the file system said, for a model to read; anything else stays a defect. */
export const asFailure = (error: unknown, name: string): unknown => {
  const reason = reasons[(error as NodeJS.ErrnoException).code ?? ''];
  return reason ? new ToolFailure(`${name} ${reason}`, { cause: error }) : error;
};
