import { ToolFailure } from '../../core/ports/tool.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'cannot exist: a part of the path is a file, not a folder',
  EISDIR: 'is a folder',
  EACCES: 'cannot be accessed: permission denied',
  EPERM: 'cannot be accessed: permission denied',
  ELOOP: 'goes through a loop of symbolic links',
  ENAMETOOLONG: 'is too long for the file system',
  ENOSPC: 'cannot be written: the disk is full',
  EROFS: 'cannot be written: the disk is read-only',
};

/** Converts a file system error into a message for the model. Other errors stay defects. */
export const asFailure = (error: unknown, name: string): unknown => {
  const reason = reasons[(error as NodeJS.ErrnoException).code ?? ''];
  return reason ? new ToolFailure(`${name} ${reason}`, { cause: error }) : error;
};
