import { z } from 'zod';
import { defineTool } from '../../../src/index.ts';

/** A tool that asks a person; its run waits for the answer. */
export const askTool = defineTool({
  name: 'ask',
  input: z.object({}),
  effects: 'none',
  question: () => ({ text: 'Which?' }),
  execute: () => undefined,
});
