import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import {
  globTest,
  maxMatchChars,
  maxSearchedBytes,
  type SearchMatch,
  type SearchRequest,
  type SearchResult,
} from './search-request.ts';

export const findRipgrep = (): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter(Boolean)
    .map((folder) => join(folder, 'rg'))
    .find(existsSync);

/** What our own search does too: .gitignore counts outside of repositories, and no setting of the user does. */
const asOurs = [
  '--json',
  '--no-config',
  '--no-messages',
  '--no-require-git',
  '--no-ignore-global',
  '--no-ignore-dot',
  '--no-ignore-exclude',
  '--no-ignore-parent',
  '--crlf',
];
const neverOfInterest = ['--glob=!node_modules', '--glob=!__pycache__'];

const argumentsOf = ({ root, from, pattern, isText, ignoreCase }: SearchRequest): readonly string[] => [
  ...asOurs,
  ...neverOfInterest,
  '--sort=path',
  `--max-filesize=${maxSearchedBytes}`,
  ...(isText ? ['--fixed-strings'] : []),
  ...(ignoreCase ? ['--ignore-case'] : []),
  `--regexp=${pattern}`,
  '--',
  `./${relative(root, from)}`,
];

/** See grep_printer::JSON. What is not UTF-8 comes as bytes. */
interface Told {
  readonly type: string;
  readonly data: {
    readonly path: { readonly text?: string };
    readonly lines: { readonly text?: string };
    readonly line_number: number;
  };
}

const matchOf = (line: string): SearchMatch | undefined => {
  const { type, data } = JSON.parse(line) as Told;
  if (type !== 'match' || data.path.text === undefined) return undefined;
  const text = (data.lines.text ?? '[not UTF-8]')
    .replace(/\r?\n$/, '')
    .slice(0, maxMatchChars)
    .toWellFormed();
  return { name: data.path.text.replace(/^(?:\.\/)+/, ''), line: data.line_number, text };
};

/** Undefined when ripgrep does not take the pattern, which knows no lookaround. */
export const searchByRipgrep = async (
  path: string,
  request: SearchRequest,
  maxMs: number,
  signal: AbortSignal,
): Promise<SearchResult | undefined> => {
  const isWanted = globTest(request.glob);
  const timeout = AbortSignal.timeout(maxMs);
  const child = spawn(path, argumentsOf(request), {
    cwd: request.root,
    stdio: ['ignore', 'pipe', 'ignore'],
    signal: AbortSignal.any([signal, timeout]),
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null)).once('close', resolve);
  });
  const matches: SearchMatch[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const match = matchOf(line);
    if (match && isWanted(match.name)) matches.push(match);
    if (matches.length >= request.maxMatches) child.kill('SIGKILL');
    if (matches.length >= request.maxMatches) break;
  }
  const code = await ended;
  signal.throwIfAborted();
  return code === 2 && matches.length === 0 ? undefined : { matches, isTimedOut: timeout.aborted };
};
