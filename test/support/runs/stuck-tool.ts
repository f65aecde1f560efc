import { z } from 'zod';
import { defineTool } from '../../../src/index.ts';

/** A tool whose calls end only when they are aborted. */
export const stuckTool = defineTool({
  name: 'stuck',
  input: z.object({}),
  execute: (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
});
