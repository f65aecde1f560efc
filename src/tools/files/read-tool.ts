import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import { defineTool } from '../define-tool.ts';
import { findInside } from './inside.ts';
import { withFile } from './open-file.ts';
import { readLines, shownLine } from './read-lines.ts';

const defaultLines = 2000;
const maxChars = 200_000;

export const readTool = defineTool({
  name: 'read',
  description:
    'Reads a text file of the session folder as numbered lines. For a large file give offset (the first line, from 1) and limit.',
  input: z.object({
    path: Text.min(1),
    offset: z.int().min(1).optional(),
    limit: z.int().min(1).max(10_000).optional(),
  }),
  effects: 'none',
  reads: ({ path }) => [path],
  execute: async ({ path, offset = 1, limit = defaultLines }, { folder, signal }) => {
    const inside = await findInside(folder, path);
    return withFile(inside, async (file) => {
      const shown: string[] = [];
      let chars = 0;
      let last = 0;
      for await (const line of readLines(file, inside.name, signal)) {
        last = line.number;
        if (line.number < offset) continue;
        if (shown.length >= limit || chars > maxChars) {
          return `${shown.join('\n')}\n[more lines follow: read on with offset ${line.number}]`;
        }
        const text = `${line.number}\t${shownLine(line)}`;
        chars += text.length;
        shown.push(text);
      }
      if (shown.length > 0) return shown.join('\n');
      return last === 0 ? '[the file is empty]' : `[the file ends with line ${last}]`;
    });
  },
});
