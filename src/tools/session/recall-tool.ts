import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import { defineTool } from '../define-tool.ts';

export const recallTool = defineTool({
  name: 'recall',
  description: 'Returns content that was left out of the context, by the key shown in its place.',
  input: z.object({ key: Text.min(1).max(500) }),
  effects: 'none',
  usesFiles: false,
  execute: ({ key }, { recall }) => recall(key),
});
