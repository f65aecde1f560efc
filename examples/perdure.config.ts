/** The agents for `perdure chat`, `send`, `serve` and `worker`. Copy this file to the folder where you start them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineAgent, defineTool } from 'perdure';
import { z } from 'zod';

const readText = defineTool({
  name: 'read_text',
  description: 'Reads a text file of the folder.',
  input: z.object({ name: z.string().regex(/^[\w.-]+$/) }),
  effects: 'none',
  execute: ({ name }, { folder }) => readFile(join(folder, name), 'utf8'),
});

const reader = defineAgent({
  name: 'reader',
  model: 'scripted/demo', // a script that needs no key; a model is `anthropic/NAME`, `openai/NAME` or `PROVIDER/NAME`
  instructions: 'You answer questions about the files in this folder.',
  tools: [readText],
});

export default { agents: [reader] };
