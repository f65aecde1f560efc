import { fileProblem } from '../../core/host/file-problem.ts';
import { PerdureError } from '../../schema/error.ts';

/** The error for a call that is wrong regardless of the content of the store. */
export const wrongCall = (message: string): PerdureError => new PerdureError('INVALID_INPUT', message);

export const onStoreAlone = (what: string, { isServerNamed }: { readonly isServerNamed: boolean }): PerdureError =>
  wrongCall(
    isServerNamed
      ? `${what} works on the store itself, not through a server: run it where the store is`
      : `${what} works on the store itself, but PERDURE_SERVER is set: unset it, or give --store`,
  );

/** Rewords a file system error about a file that the call names. Returns any other error unchanged. */
export const fileError = (error: unknown, verb: 'read' | 'write', file: string): unknown => {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (!code || !syscall) return error;
  const about = { details: { file, errno: code }, cause: error };
  return verb === 'read' && code === 'ENOENT'
    ? new PerdureError('FILE_NOT_FOUND', `there is no file ${file}: name one that exists`, about)
    : new PerdureError('FILE_UNAVAILABLE', `cannot ${verb} ${file}: ${fileProblem(error)}`, about);
};
