import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, rename, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import type { HeldFolder } from '../../core/files/disk/held-folder.ts';
import { ToolFailure } from '../../core/ports/tool.ts';
import { asFailure } from './file-failure.ts';
import { type Place, withPlace } from './held-place.ts';

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The name of the temporary file. It is the same for each attempt of a call, so that the next attempt overwrites the
 * file that a crash left.
 */
const draftOf = (name: string, key: string): string =>
  `.${name.slice(0, 100)}.${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;

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
export const replaceFile = async (place: Place, content: string, key: string): Promise<'created' | 'modified'> => {
  const { name } = place;
  const replace = async (path: string, folder: HeldFolder): Promise<'created' | 'modified'> => {
    const before = await lstat(path).catch(() => undefined);
    if (before?.isDirectory()) throw new ToolFailure(`${name} is a folder`);
    if (before && !before.isFile()) throw new ToolFailure(`${name} is not a regular file`);
    const draft = folder.at(draftOf(basename(name), key));
    try {
      await writeSynced(draft, content, before ? before.mode & 0o777 : 0o644);
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    return before ? 'modified' : 'created';
  };
  try {
    return await withPlace(place, replace, true);
  } catch (error) {
    throw asFailure(error, name);
  }
};
