import { readFileSync, statSync } from 'node:fs';
import { fileError, wrongCall } from './wrong-call.ts';

const othersMayRead = 0o077;

const keyIn = (file: string): string => {
  try {
    if ((statSync(file).mode & othersMayRead) === 0) return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw fileError(error, 'read', file);
  }
  throw wrongCall(`others may read ${file}, which --key-file names: \`chmod 600\` it, and rotate the key if they did`);
};

/** Never an argument: others on the machine see those, and shells keep them. */
export const serverKey = (file: string | undefined, env: Readonly<Record<string, string | undefined>>): string => {
  const key = file === undefined ? env.PERDURE_KEY : keyIn(file);
  if (key) return key;
  throw wrongCall('a server needs a key: put it into PERDURE_KEY, or into a file that --key-file names');
};
