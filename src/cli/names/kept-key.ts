import { existsSync, readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makePrivateFolder } from '../../core/host/make-folder.ts';

/** Of the server that the data folder belongs to. Whoever may read there has its sessions anyway. */
export const keptKeyFile = (data: string): string => join(data, 'api-key');

/** Found by whoever asks a server of this machine from the folder where it was started. */
export const keyFileIn = (folder: string, server: string): string | undefined => {
  const file = keptKeyFile(join(folder, '.perdure'));
  const isOfThisMachine = /^(localhost|127\.[\d.]+|\[::1\])$/.test(URL.parse(server)?.hostname ?? '');
  return isOfThisMachine && existsSync(file) ? file : undefined;
};

/** Undefined where none can be read. */
export const readKeptKey = (data: string): string | undefined => {
  try {
    return readFileSync(keptKeyFile(data), 'utf8').trim();
  } catch {
    return undefined;
  }
};

/** For its owner alone, and under its name only once it is whole. */
export const keepKey = async (data: string, token: string): Promise<void> => {
  const file = keptKeyFile(data);
  const part = `${file}.${process.pid}.part`;
  await makePrivateFolder(dirname(file));
  await writeFile(part, `${token}\n`, { mode: 0o600 });
  await rename(part, file);
};
