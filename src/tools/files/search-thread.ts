/**
 * Searches in its own thread, which can be terminated while a regular expression hangs. Posts each match, then null.
 */
import { lstat } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { withPlace } from './held-place.ts';
import { searchedBytes } from './open-file.ts';
import { globTest, maxMatchChars, regexOf, type SearchMatch, type SearchRequest } from './search-request.ts';
import { isBinary, sniffedBytes } from './text-kind.ts';
import { walkFolder } from './walk-folder.ts';

const request = workerData as SearchRequest;

async function* filesToSearch(): AsyncGenerator<{ readonly name: string }> {
  const { root, from } = request;
  if ((await withPlace({ root, name: from }, (path) => lstat(path))).isFile()) {
    yield { name: from };
    return;
  }
  for await (const found of walkFolder(root, from)) if (found.kind === 'file') yield found;
}

const textOf = async (name: string): Promise<string | undefined> => {
  try {
    const bytes = await searchedBytes(request.root, name);
    if (!bytes) return undefined;
    return isBinary(bytes.subarray(0, sniffedBytes)) ? undefined : bytes.toString('utf8');
  } catch {
    return undefined;
  }
};

const matchesIn = (name: string, text: string, regex: RegExp): readonly SearchMatch[] =>
  text.split(/\r?\n/).flatMap((line, index) => {
    if (!regex.test(line)) return [];
    return { name, line: index + 1, text: line.slice(0, maxMatchChars).toWellFormed() };
  });

const isWanted = globTest(request.glob);
const regex = regexOf(request);
let left = request.maxMatches;
for await (const { name } of filesToSearch()) {
  if (!isWanted(name)) continue;
  const text = await textOf(name);
  const found = text === undefined ? [] : matchesIn(name, text, regex).slice(0, left);
  for (const match of found) parentPort!.postMessage(match);
  left -= found.length;
  if (left <= 0) break;
}
parentPort!.postMessage(null);
