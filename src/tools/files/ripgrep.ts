import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join, relative } from 'node:path';
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
    // A relative folder would lead into the session's folder, where ripgrep is started.
    .filter(isAbsolute)
    .map((folder) => join(folder, 'rg'))
    .find(existsSync);

/**
 * Makes ripgrep behave like our own search: .gitignore also applies outside repositories, and user settings do not
 * apply.
 */
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

/** A line of ripgrep's JSON output, see grep_printer::JSON. Text that is not UTF-8 is given as bytes instead. */
interface RipgrepMessage {
  readonly type: string;
  readonly data: {
    readonly path: { readonly text?: string };
    readonly lines: { readonly text?: string };
    readonly line_number: number;
  };
}

const matchOf = (line: string): SearchMatch | undefined => {
  const { type, data } = JSON.parse(line) as RipgrepMessage;
  if (type !== 'match' || data.path.text === undefined) return undefined;
  const text = (data.lines.text ?? '[not UTF-8]')
    .replace(/\r?\n$/, '')
    .slice(0, maxMatchChars)
    .toWellFormed();
  return { name: data.path.text.replace(/^(?:\.\/)+/, ''), line: data.line_number, text };
};

/** Returns undefined if ripgrep rejects the pattern, because it does not support lookaround. */
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
