import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PerdureError } from '../../schema/error.ts';
import { fileProblem } from '../host/file-problem.ts';
import { makePrivateFolder } from '../host/make-folder.ts';
import { keyBytes, newSealingKey, type SealingKey, sealingKey } from './seal.ts';

export const vaultLocked = (why: string): PerdureError =>
  new PerdureError('VAULT_LOCKED', `the vault is locked: ${why}`);

export interface MasterKeySource {
  /** The key itself: base64 of 32 bytes. */
  readonly given?: string | undefined;
  /** The key file, used if `given` is absent. */
  readonly file: string;
  /** Whether PERDURE_MASTER_KEY_FILE names the file. */
  readonly isNamed: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const masterKeySource = (data: string, given: string | undefined, env: Environment): MasterKeySource => {
  const named = env.PERDURE_MASTER_KEY_FILE;
  return {
    given: given ?? (env.PERDURE_MASTER_KEY || undefined),
    file: named || join(data, 'master.key'),
    isNamed: Boolean(named),
  };
};

export const parseMasterKey = (text: string, from: string): SealingKey => {
  const bytes = Buffer.from(text.trim(), 'base64');
  if (bytes.length === keyBytes && bytes.toString('base64') === text.trim()) return sealingKey(bytes);
  throw vaultLocked(`${from} is not base64 of ${keyBytes} bytes: \`perdure vault init\` makes a valid key`);
};

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code;

/** Reads the key file. Returns undefined if the file does not exist. */
const readKeyFile = async (file: string): Promise<SealingKey | undefined> => {
  const refuse = (error: unknown): never => {
    throw vaultLocked(`${file} cannot be read (${fileProblem(error)})`);
  };
  const opened = await open(file, constants.O_RDONLY).catch((error) =>
    isCode(error, 'ENOENT') ? undefined : refuse(error),
  );
  if (!opened) return undefined;
  try {
    const { mode } = await opened.stat();
    if (mode & 0o077) throw vaultLocked(`other users can read ${file}: run \`chmod 600 ${file}\``);
    return parseMasterKey(await opened.readFile('utf8').catch(refuse), file);
  } finally {
    await opened.close();
  }
};

/** The new key of a rotation that has not replaced the old one yet. */
const nextFile = (file: string): string => `${file}.next`;

const missing = ({ file, isNamed }: MasterKeySource): PerdureError =>
  vaultLocked(
    isNamed
      ? `the file ${file}, which PERDURE_MASTER_KEY_FILE names, does not exist`
      : `there is no master key: make one with \`perdure vault init\`, or set PERDURE_MASTER_KEY or PERDURE_MASTER_KEY_FILE`,
  );

/**
 * Returns the master keys. The first one is used for sealing. There are two keys during a rotation. If there is no
 * key, throws VAULT_LOCKED with a message that says what to do.
 */
export const readMasterKeys = async (source: MasterKeySource): Promise<readonly [SealingKey, ...SealingKey[]]> => {
  const { given, file } = source;
  if (given !== undefined) return [parseMasterKey(given, 'PERDURE_MASTER_KEY')];
  const reading = readKeyFile(nextFile(file));
  reading.catch(() => {}); // reports a problem of the current key first
  const current = await readKeyFile(file);
  const next = await reading;
  if (!current) throw missing(source);
  return next ? [next, current] : [current];
};

const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, constants.O_RDONLY);
  await handle.sync().finally(() => handle.close());
};

const unwritable =
  (file: string) =>
  (cause: unknown): never => {
    throw new PerdureError('FILE_UNAVAILABLE', `cannot write ${file}: ${fileProblem(cause)}`, {
      details: { file },
      cause,
    });
  };

/**
 * Writes a new key to a file that only its user can read. The file is durable when it returns. Fails with EEXIST if
 * the file exists.
 */
const writeKeyFile = async (file: string): Promise<SealingKey> => {
  const key = newSealingKey();
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(`${Buffer.from(key.bytes).toString('base64')}\n`);
    await handle.sync();
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  await syncFolder(dirname(file));
  return key;
};

export const makeMasterKey = async (file: string): Promise<void> => {
  await makePrivateFolder(dirname(file)).catch(unwritable(file));
  await writeKeyFile(file).catch((error) => {
    if (!isCode(error, 'EEXIST')) return unwritable(file)(error);
    throw new PerdureError('CONFLICT', `there is already a master key: ${file}`, { details: { file } });
  });
};

/**
 * Creates a new key beside the old one. Both keys are valid from then on. Reuses the new key of an interrupted
 * rotation.
 */
export const makeNextKey = async (file: string): Promise<SealingKey> =>
  (await readKeyFile(nextFile(file))) ?? writeKeyFile(nextFile(file)).catch(unwritable(nextFile(file)));

/** Replaces the old key by the new one. Call this only when nothing is sealed with the old key. */
export const replaceMasterKey = async (file: string): Promise<void> => {
  await rename(nextFile(file), file);
  await syncFolder(dirname(file));
};
