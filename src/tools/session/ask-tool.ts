import { z } from 'zod';
import { Text } from '../../schema/json.ts';
import { defineTool } from '../define-tool.ts';
import { Note } from './entry-key.ts';

export const askTool = defineTool({
  name: 'ask',
  description:
    'Asks the person a question and waits for the answer. Give options where there are a few to choose from.',
  input: z.object({ question: Note, options: z.array(Text.min(1).max(500)).min(2).max(20).optional() }),
  effects: 'none',
  usesFiles: false,
  question: ({ question, options }) => ({ text: question, ...(options && { options }) }),
  execute: () => null,
});
