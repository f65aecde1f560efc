import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ToolFailure } from '../../core/ports/tool.ts';
import { asFailure } from './file-failure.ts';
import type { Inside } from './inside.ts';

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

/**
 * The path of the temporary file. It is the same for each attempt of a call, so that the next attempt overwrites the
 * file that a crash left.
 */
const draftOf = (real: string, key: string): string =>
  join(
    dirname(real),
    `.${basename(real).slice(0, 100)}.${createHash('sha256').update(key).digest('hex').slice(0, 12)}`,
  );

const writeSynced = async (path: string, content: string, mode: number): Promise<void> => {
  const file = await open(path, flags, mode);
  try {
    await file.chmod(mode);
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
};

/** Replaces a file atomically. The old content stays until the new content is on disk. */
export const replaceFile = async (
  { real, name }: Inside,
  content: string,
  key: string,
): Promise<'created' | 'modified'> => {
  try {
    await mkdir(dirname(real), { recursive: true });
    if ((await realpath(dirname(real))) !== dirname(real))
      throw new ToolFailure(`the folder of ${name} was moved meanwhile: try again`);
    const before = await stat(real).catch(() => undefined);
    if (before?.isDirectory()) throw new ToolFailure(`${name} is a folder`);
    if (before && !before.isFile()) throw new ToolFailure(`${name} is not a regular file`);
    const draft = draftOf(real, key);
    try {
      await writeSynced(draft, content, before ? before.mode & 0o777 : 0o644);
      await rename(draft, real);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    return before ? 'modified' : 'created';
  } catch (error) {
    throw asFailure(error, name);
  }
};
