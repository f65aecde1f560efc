import { statSync } from 'node:fs';
import { fileProblem } from '../../core/host/file-problem.ts';
import { PerdureError } from '../../schema/error.ts';

export const defaultStore = 'sqlite:.perdure/perdure.db';

type Env = Readonly<Record<string, string | undefined>>;

export const givenStore = (option: string | undefined, env: Env): string | undefined =>
  option ?? (env.PERDURE_STORE || undefined);
export const storeOf = (option: string | undefined, env: Env): string => givenStore(option, env) ?? defaultStore;

const fileOf = (address: string): string | undefined => /^sqlite:(.+)$/.exec(address)?.[1];

const unreadable = (file: string, cause: unknown): PerdureError =>
  new PerdureError(
    'STORE_UNAVAILABLE',
    `cannot read ${file}: ${fileProblem(cause)}; check that this user can read and write it and its folder, or name another with --store`,
    { details: { file }, cause },
  );

/** Whether nothing is there, or a file with nothing in it. */
const isEmpty = (file: string): boolean => {
  try {
    const found = statSync(file);
    return found.isFile() && found.size === 0;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return true;
    throw unreadable(file, error);
  }
};

/** So is a database without tables, as a copy of nothing has been: only an engine can tell. */
const isBlank = async (address: string): Promise<boolean> => (await import('../../runtime.ts')).isBlankStore(address);

/** Opening SQLite would make the file: only the commands that begin a store may do so. Of a log without its file the store itself tells. */
export const refuseMissingStore = async (address: string): Promise<void> => {
  const file = fileOf(address);
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

/** Passwords in an address, as written and as meant. One that is also the user's name is told apart from nothing, so it stays. */
const passwordsIn = (address: string): readonly string[] => {
  const [, user = '', password = ''] = /\/\/([^/?#:]*):(.*)@/.exec(address) ?? [];
  const parameters = Array.from(address.matchAll(/[?&]\w*password=([^&#]*)/gi), ([, value]) => String(value));
  return [password, ...parameters]
    .flatMap((each) => [each, decoded(each)])
    .filter((each) => each.length > 3 && each !== user);
};

/** Takes the password of the store's address out of any text, wherever that came from. */
export const withoutSecrets = (text: string, address: string): string =>
  passwordsIn(address)
    .reduce((shown, password) => shown.replaceAll(password, '…'), text)
    .replace(/:\/\/[^\s/@"]*@/g, '://…@')
    .replace(/(\w*password=)[^&#\s"]*/gi, '$1…');
