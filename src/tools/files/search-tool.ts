import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { ToolFailure } from '../../core/ports/tool.ts';
import { Text } from '../../schema/json.ts';
import { defineTool } from '../define-tool.ts';
import { asFailure } from './file-failure.ts';
import { withPlace } from './held-place.ts';
import { findInside } from './inside.ts';
import { findRipgrep, searchByRipgrep } from './ripgrep.ts';
import { searchFiles } from './search-files.ts';
import { globTest, regexOf, type SearchRequest, type SearchResult } from './search-request.ts';

const defaultMatches = 100;
const maxMs = 10_000;

const assertSound = (request: SearchRequest): void => {
  try {
    regexOf(request);
    globTest(request.glob);
  } catch (cause) {
    throw new ToolFailure(`the pattern cannot be used: ${(cause as Error).message}`, { cause });
  }
};

const search = async (request: SearchRequest, signal: AbortSignal): Promise<SearchResult> => {
  const ripgrep = findRipgrep();
  const found = ripgrep && (await searchByRipgrep(ripgrep, request, maxMs, signal));
  return found || searchFiles(request, maxMs, signal);
};

export const searchTool = defineTool({
  name: 'search',
  description:
    'Finds lines in the files of the session folder by a regular expression, or by plain text with text: true. glob narrows it to files such as *.ts or src/**/*.md. Hidden, ignored and binary files are left out.',
  input: z.object({
    pattern: Text.min(1).max(10_000),
    text: z.boolean().optional(),
    path: Text.min(1).optional(),
    glob: Text.min(1).max(1000).optional(),
    ignoreCase: z.boolean().optional(),
    limit: z.int().min(1).max(1000).optional(),
  }),
  effects: 'none',
  reads: ({ path = '.' }) => [path],
  execute: async ({ pattern, text, path = '.', glob, ignoreCase, limit = defaultMatches }, { folder, signal }) => {
    const inside = await findInside(folder, path);
    const { root, name } = inside;
    await withPlace(inside, (at) => stat(at)).catch((error) => {
      throw asFailure(error, name);
    });
    const request: SearchRequest = {
      root,
      from: name,
      pattern,
      isText: text ?? false,
      ignoreCase: ignoreCase ?? false,
      glob,
      maxMatches: limit + 1,
    };
    assertSound(request);
    const { matches, isTimedOut } = await search(request, signal);
    const lines = matches.slice(0, limit).map((match) => `${match.name}:${match.line}: ${match.text}`);
    if (matches.length > limit) lines.push(`[more than ${limit} lines match: narrow it down, or raise limit]`);
    if (isTimedOut) lines.push(`[stopped after ${maxMs / 1000} s: not everything was searched]`);
    return lines.join('\n') || '[nothing found]';
  },
});
