import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { createInterface } from 'node:readline';
import { searchedBytes } from './open-file.ts';
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

const argumentsOf = ({ from, pattern, isText, ignoreCase }: SearchRequest): readonly string[] => [
  ...asOurs,
  ...neverOfInterest,
  '--sort=path',
  `--max-filesize=${maxSearchedBytes}`,
  ...(isText ? ['--fixed-strings'] : []),
  ...(ignoreCase ? ['--ignore-case'] : []),
  `--regexp=${pattern}`,
  '--',
  `./${from}`,
];

/** A line of ripgrep's JSON output, see grep_printer::JSON. Text that is not UTF-8 is given as bytes instead. */
interface RipgrepMessage {
  readonly type: string;
  readonly data: {
    readonly path: { readonly text?: string };
    readonly lines: { readonly text?: string; readonly bytes?: string };
    readonly line_number: number;
  };
}

const matchOf = (line: string): SearchMatch | undefined => {
  const { type, data } = JSON.parse(line) as RipgrepMessage;
  if (type !== 'match' || data.path.text === undefined) return undefined;
  const { text, bytes = '' } = data.lines;
  const shown = shownText(text === undefined ? Buffer.from(bytes, 'base64') : Buffer.from(text));
  return { name: data.path.text.replace(/^(?:\.\/)+/, ''), line: data.line_number, text: shown };
};

const shownText = (line: Uint8Array): string => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(line);
    return text
      .replace(/\r?\n$/, '')
      .slice(0, maxMatchChars)
      .toWellFormed();
  } catch {
    return '[not UTF-8]';
  }
};

/** The lines with these numbers, from 1. */
const linesAt = (content: Buffer, numbers: ReadonlySet<number>): ReadonlyMap<number, string> => {
  const found = new Map<number, string>();
  for (let start = 0, number = 1; start < content.length && found.size < numbers.size; number++) {
    const feed = content.indexOf(10, start);
    const end = feed === -1 ? content.length : feed + 1;
    if (numbers.has(number)) found.set(number, shownText(content.subarray(start, end)));
    start = end;
  }
  return found;
};

/**
 * The matches that are in the session's folder. Ripgrep opens files by their paths, so a command that puts links there
 * meanwhile can lead it to any file. Each matching line is read again, and dropped if it is not the same.
 */
const confirmed = async (root: string, matches: readonly SearchMatch[]): Promise<readonly SearchMatch[]> => {
  const byFile = Map.groupBy(matches, ({ name }) => name);
  const kept: SearchMatch[] = [];
  for (const [name, found] of byFile) {
    const content = await searchedBytes(root, name).catch(() => undefined);
    const lines = content && linesAt(content, new Set(found.map(({ line }) => line)));
    kept.push(...found.filter(({ line, text }) => lines?.get(line) === text));
  }
  return kept;
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
  if (code === 2 && matches.length === 0) return undefined;
  return { matches: await confirmed(request.root, matches), isTimedOut: timeout.aborted };
};
