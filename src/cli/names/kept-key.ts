import { existsSync, readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makePrivateFolder } from '../../core/host/make-folder.ts';

/**
 * File with the first API key of a server, in the server's data folder. A user who can read the folder can read its
 * sessions anyway.
 */
export const keptKeyFile = (data: string): string => join(data, 'api-key');

/** File with the saved key, for a server on this machine that was started in this folder. */
export const keyFileIn = (folder: string, server: string): string | undefined => {
  const file = keptKeyFile(join(folder, '.perdure'));
  const isOfThisMachine = /^(localhost|127\.[\d.]+|\[::1\])$/.test(URL.parse(server)?.hostname ?? '');
  return isOfThisMachine && existsSync(file) ? file : undefined;
};

/** Returns undefined when there is no readable key. */
export const readKeptKey = (data: string): string | undefined => {
  try {
    return readFileSync(keptKeyFile(data), 'utf8').trim();
  } catch {
    return undefined;
  }
};

/** Saves the key in a file that only its owner may read. A rename puts the complete file in place. */
export const keepKey = async (data: string, token: string): Promise<void> => {
  const file = keptKeyFile(data);
  const part = `${file}.${process.pid}.part`;
  await makePrivateFolder(dirname(file));
  await writeFile(part, `${token}\n`, { mode: 0o600 });
  await rename(part, file);
};
