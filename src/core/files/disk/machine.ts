import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { PerdureError } from '../../../schema/error.ts';
import { fileProblem } from '../../host/file-problem.ts';
import { makePrivateFolder } from '../../host/make-folder.ts';
import { createWhole } from './create-whole.ts';

const fileIn = (data: string): string => join(data, 'machine');

const known = async (data: string): Promise<string | undefined> => {
  try {
    return (await readFile(fileIn(data), 'utf8')).trim();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
};

const knownOrNew = async (data: string): Promise<string> => {
  const machine = await known(data);
  if (machine) return machine;
  await makePrivateFolder(data);
  await createWhole(fileIn(data), `${hostname()}-${randomBytes(8).toString('hex')}\n`);
  return knownOrNew(data);
};

/**
 * The id of this machine in logs. It is kept in the data folder, because hostnames can change and need not be unique.
 */
export const thisMachine = (data: string): Promise<string> =>
  knownOrNew(data).catch((cause) => {
    const advice = 'set PERDURE_DATA, or data of the configuration, to another';
    throw new PerdureError(
      'FILE_UNAVAILABLE',
      `the data folder ${data} cannot be used: ${fileProblem(cause)}; ${advice}`,
      { details: { folder: data }, cause },
    );
  });

/** Whether an id is the id of this machine. The check creates nothing. */
export const isThisMachine = async (data: string, machine: string): Promise<boolean> => (await known(data)) === machine;
