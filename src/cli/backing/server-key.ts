import { readFileSync, statSync } from 'node:fs';
import { PerdureError } from '../../schema/error.ts';
import { keyFileIn } from '../names/kept-key.ts';
import type { World } from '../parse/world.ts';
import { fileError, wrongCall } from '../parse/wrong-call.ts';

const othersMayRead = 0o077;

const keyIn = (file: string): string => {
  try {
    const key = readFileSync(file, 'utf8').trim();
    if ((statSync(file).mode & othersMayRead) === 0) return key;
  } catch (error) {
    throw fileError(error, 'read', file);
  }
  throw wrongCall(
    `other users can read ${file}, which has a key in it: \`chmod 600\` it, and rotate the key if they have`,
  );
};

/**
 * The API key for a server. It is never a command-line argument, because other users can see arguments and shells
 * record them.
 */
export const serverKey = (
  server: string,
  named: string | undefined,
  { env, folder }: Pick<World, 'env' | 'folder'>,
): string => {
  const file = named ?? (env.PERDURE_KEY ? undefined : keyFileIn(folder, server));
  const key = file === undefined ? env.PERDURE_KEY : keyIn(file);
  if (key) return key;
  throw new PerdureError(
    'UNAUTHENTICATED',
    'a server needs a key: put it into PERDURE_KEY, or into a file that --key-file names; for a server on this machine, it is found in the folder where the server was started',
  );
};
