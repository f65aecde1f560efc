import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { ToolFailure } from '../../core/ports/tool.ts';
import { Text } from '../../schema/json.ts';
import { defineTool } from '../define-tool.ts';
import { asFailure } from './file-failure.ts';
import { withPlace } from './held-place.ts';
import { findInside } from './inside.ts';
import { type Found, walkFolder } from './walk-folder.ts';

const maxEntries = 1000;
const marks: Readonly<Record<Found['kind'], string>> = { file: '', folder: '/', link: '@', other: '?' };

export const listTool = defineTool({
  name: 'list',
  description:
    'Lists a folder of the session folder, as deep as depth says (1 by default). Folders end in /, symbolic links in @. Hidden and ignored files are left out.',
  input: z.object({ path: Text.min(1).optional(), depth: z.int().min(1).max(20).optional() }),
  effects: 'none',
  reads: ({ path = '.' }) => [path],
  execute: async ({ path = '.', depth = 1 }, { folder, signal }) => {
    const inside = await findInside(folder, path);
    const { root, name } = inside;
    const stats = await withPlace(inside, (at) => stat(at)).catch((error) => {
      throw asFailure(error, name);
    });
    if (!stats.isDirectory()) throw new ToolFailure(`${name} is a file: use read`);
    const lines: string[] = [];
    for await (const entry of walkFolder(root, name, depth)) {
      signal.throwIfAborted();
      if (lines.length === maxEntries) {
        lines.push(`[more than ${maxEntries} entries: list one of these folders, or use a smaller depth]`);
        break;
      }
      lines.push(`${entry.name}${marks[entry.kind]}`);
    }
    return lines.join('\n') || '[no visible files]';
  },
});
