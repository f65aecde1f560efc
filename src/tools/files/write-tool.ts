import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import { defineTool } from '../define-tool.ts';
import { findInside } from './inside.ts';
import { replaceFile } from './replace-file.ts';

export const writeTool = defineTool({
  name: 'write',
  description:
    'Writes a whole file of the session folder and replaces its previous content. Missing folders are created.',
  input: z.object({ path: Text.min(1), content: Text }),
  effects: 'idempotent',
  confined: true,
  reads: () => [],
  execute: async ({ path, content }, { folder, idempotencyKey }) => {
    const inside = await findInside(folder, path);
    const change = await replaceFile(inside, content, idempotencyKey);
    return { path: inside.name, change, bytes: Buffer.byteLength(content) };
  },
  summarize: ({ path, change, bytes }) => `${change} ${path} (${bytes} bytes)`,
});
