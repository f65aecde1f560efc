import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
const fileIn = (data: string): string => join(data, 'machine');

const known = async (data: string): Promise<string | undefined> => {
  try {
    return (await readFile(fileIn(data), 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};

/** Whole or not at all; of several that make one at once, the first counts. */
const make = async (data: string): Promise<void> => {
  const unique = randomBytes(8).toString('hex');
  const draft = `${fileIn(data)}.${unique}`;
  await mkdir(data, { recursive: true });
  try {
    await writeFile(draft, `${hostname()}-${unique}\n`, { flush: true });
    await link(draft, fileIn(data));
    await using folder = await open(data);
    await folder.sync();
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
};

/** What logs call this machine. Its name may become another, and others may have the same, so that its data folder keeps what it is called. */
export const thisMachine = async (data: string): Promise<string> => {
  const machine = await known(data);
  if (machine) return machine;
  await make(data);
  return thisMachine(data);
};

/** Makes nothing. */
export const isThisMachine = async (data: string, machine: string): Promise<boolean> => (await known(data)) === machine;
