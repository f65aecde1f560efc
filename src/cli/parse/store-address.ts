import { statSync } from 'node:fs';
import { fileProblem } from '../../core/host/file-problem.ts';
import { PerdureError } from '../../schema/error.ts';

export const defaultStore = 'sqlite:.perdure/perdure.db';

type Env = Readonly<Record<string, string | undefined>>;

export const givenStore = (option: string | undefined, env: Env): string | undefined =>
  option ?? (env.PERDURE_STORE || undefined);
export const storeOf = (option: string | undefined, env: Env): string => givenStore(option, env) ?? defaultStore;

export const sqliteFileOf = (address: string): string | undefined => /^sqlite:(.+)$/.exec(address)?.[1];

const unreadable = (file: string, cause: unknown): PerdureError =>
  new PerdureError(
    'STORE_UNAVAILABLE',
    `cannot read ${file}: ${fileProblem(cause)}; check that this user can read and write it and its folder, or name another with --store`,
    { details: { file }, cause },
  );

/** Whether the file is missing or has no content. */
const isEmpty = (file: string): boolean => {
  try {
    const found = statSync(file);
    return found.isFile() && found.size === 0;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return true;
    throw unreadable(file, error);
  }
};

/** Whether the file is a database without tables, such as a copy of an empty one. Only SQLite itself can tell. */
const isBlank = async (address: string): Promise<boolean> => (await import('../../runtime.ts')).isBlankStore(address);

/**
 * Fails if the store does not exist, because opening it would create the file. If only its write-ahead log remains,
 * the store itself reports that.
 */
export const refuseMissingStore = async (address: string): Promise<void> => {
  const file = sqliteFileOf(address);
  if (!file || !(isEmpty(file) || (await isBlank(address))) || !isEmpty(`${file}-wal`)) return;
  throw new PerdureError(
    'STORE_UNAVAILABLE',
    `there is no store at ${file}: \`perdure open\` makes one; if yours is elsewhere, change to its folder or name it with --store`,
    { details: { file } },
  );
};

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/**
 * Finds the passwords in an address, as written and decoded. A password equal to the user name is not hidden, because
 * that would hide the name too.
 */
const passwordsIn = (address: string): readonly string[] => {
  const [, user = '', password = ''] = /\/\/([^/?#:]*):(.*)@/.exec(address) ?? [];
  const parameters = Array.from(address.matchAll(/[?&]\w*password=([^&#]*)/gi), ([, value]) => String(value));
  return [password, ...parameters]
    .flatMap((each) => [each, decoded(each)])
    .filter((each) => each.length > 3 && each !== user);
};

/** Removes the passwords of the store's address from any text. */
export const withoutSecrets = (text: string, address: string): string =>
  passwordsIn(address)
    .reduce((shown, password) => shown.replaceAll(password, '…'), text)
    .replace(/:\/\/[^\s/@"]*@/g, '://…@')
    .replace(/(\w*password=)[^&#\s"]*/gi, '$1…');
