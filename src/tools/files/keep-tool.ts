import { basename } from 'node:path';
import { z } from 'zod';
import { ToolFailure } from '../../core/ports/tool.ts';
import { isPerdureError } from '../../schema/error.ts';
import { Text } from '../../schema/json.ts';
import { defineTool } from '../define-tool.ts';
import { findInside } from './inside.ts';
import { withFile } from './open-file.ts';

const maxBytes = 32 * 1024 * 1024;

export const keepTool = defineTool({
  name: 'keep',
  description:
    'Keeps a file of the session folder as an artifact for people, as it is now: a report, a picture, a build. Set name if the name of the file does not describe it.',
  input: z.object({ path: Text.min(1), name: Text.min(1).max(200).optional(), mediaType: Text.max(200).optional() }),
  effects: 'none',
  reads: () => [],
  execute: async ({ path, name, mediaType }, { folder, keepArtifact }) => {
    const inside = await findInside(folder, path);
    const bytes = await withFile(inside, async (file, size) => {
      if (size > maxBytes)
        throw new ToolFailure(
          `${inside.name} is larger than ${maxBytes} bytes, the limit of an artifact: make it smaller`,
        );
      return file.readFile();
    });
    const as = name ?? basename(inside.name);
    try {
      await keepArtifact(as, bytes, { path: inside.name, ...(mediaType !== undefined && { mediaType }) });
    } catch (error) {
      if (isPerdureError(error, 'INVALID_INPUT')) throw new ToolFailure(error.message);
      throw error;
    }
    return { name: as, bytes: bytes.length };
  },
  summarize: ({ name, bytes }) => `kept ${name} (${bytes} bytes)`,
});
