import { z } from 'zod';
import { defineAgent, defineTool } from '../src/index.ts';
import { scriptedModel } from '../src/models/scripted.ts';

/** An agent that calls a tool that never returns. */
export const stuckAgent = defineAgent({
  name: 'stuck',
  version: 1,
  model: scriptedModel({ name: 'stuck', steps: [{ calls: [{ tool: 'wait', input: {} }] }, { text: 'Done.' }] }),
  tools: [
    defineTool({
      name: 'wait',
      input: z.object({}),
      effects: 'none',
      execute: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    }),
  ],
});
