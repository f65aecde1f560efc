/**
 * The agent that all workers hold: three steps of a quarter of a second, each recorded with the worker that took it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineAgent, defineScript, defineTool } from 'perdure';
import { z } from 'zod';

const step = defineTool({
  name: 'step',
  input: z.object({ number: z.int() }),
  effects: 'idempotent', // if its worker dies meanwhile, another worker runs it again under the same idempotency key
  usesFiles: false,
  execute: async () => {
    process.send?.('at work');
    await sleep(250);
    return process.env.WORKER;
  },
});

const script = defineScript({
  steps: [...[1, 2, 3].map((number) => ({ calls: [{ tool: 'step', input: { number } }] })), { text: 'Done.' }],
});
export const walker = defineAgent({ name: 'walker', model: script, tools: [step] });
