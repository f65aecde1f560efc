import { markName } from './process-search.ts';

export type Environment = Readonly<Record<string, string>>;

/** The changes that commands made to their initial environment. */
export type EnvironmentChanges = { readonly set: Environment; readonly unset: readonly string[] };

export const noChanges: EnvironmentChanges = { set: {}, unset: [] };

/** Only these variables are passed to commands, because the worker's environment holds keys of providers and stores. */
const passedOn = /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR)$/;
const kept = /^[A-Za-z_][A-Za-z0-9_]*$/;
const ofTheShell = new Set(['PWD', 'OLDPWD', 'SHLVL', '_', '__proto__', 'perdure_code', markName]);
const maxChars = 64 * 1024;

export const baseEnvironment = (...more: readonly Readonly<Record<string, string | undefined>>[]): Environment => {
  const own = Object.entries(process.env).filter(([name]) => passedOn.test(name));
  const all = [...own, ['TERM', 'dumb'] as const, ...more.flatMap((each) => Object.entries(each))];
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
};

export const applyChanges = (base: Environment, { set, unset }: EnvironmentChanges): Environment =>
  Object.fromEntries(Object.entries({ ...base, ...set }).filter(([name]) => !unset.includes(name)));

const parse = (left: string): Environment =>
  Object.fromEntries(
    left
      .split('\0')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const)
      .filter(([name]) => kept.test(name) && !ofTheShell.has(name)),
  );

/** The changes according to the output of `env -0`. Undefined if they are too large to keep. */
export const changesSince = (base: Environment, left: string): EnvironmentChanges | undefined => {
  const now = parse(left);
  const set = Object.fromEntries(Object.entries(now).filter(([name, value]) => base[name] !== value));
  const unset = Object.keys(base).filter((name) => !Object.hasOwn(now, name));
  return JSON.stringify(set).length > maxChars ? undefined : { set, unset };
};
