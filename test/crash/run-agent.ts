import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Agent, defineAgent, defineScript, defineTool } from '../../src/index.ts';

/** Places in a tool where its process may die. */
export type ToolPlace = 'before' | 'after';

/** What the tools did in the world, one line for each time. */
export const doneIn = (folder: string, tool: string): readonly string[] => {
  const file = join(folder, tool);
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
};

/** An agent with a tool of every class of effects, whose work is to be seen in files of the folder. */
export const crashAgent = (folder: string, die: (tool: string, place: ToolPlace) => void = () => undefined): Agent => {
  const act = (tool: string, key: string): string => {
    die(tool, 'before');
    appendFileSync(join(folder, tool), `${key}\n`);
    die(tool, 'after');
    return `${tool} done`;
  };
  const input = z.object({ step: z.number() });
  return defineAgent({
    name: 'crasher',
    version: 1,
    model: 'scripted/crash',
    tools: [
      defineTool({
        name: 'look',
        input,
        effects: 'none',
        execute: (_, { idempotencyKey }) => act('look', idempotencyKey),
      }),
      defineTool({
        name: 'count',
        input,
        effects: 'idempotent',
        execute: (_, { idempotencyKey }) => {
          if (doneIn(folder, 'count').includes(idempotencyKey)) return 'count done';
          return act('count', idempotencyKey);
        },
      }),
      defineTool({ name: 'pay', input, execute: (_, { idempotencyKey }) => act('pay', idempotencyKey) }),
      defineTool({
        name: 'mail',
        input,
        execute: (_, { idempotencyKey }) => act('mail', idempotencyKey),
        reconcile: (_, { idempotencyKey }) =>
          doneIn(folder, 'mail').includes(idempotencyKey)
            ? { outcome: 'ok', output: 'mail done' }
            : { outcome: 'not-run' },
      }),
    ],
  });
};

export const crashScript = defineScript({
  name: 'crash',
  everyTurn: true,
  steps: [
    {
      reasoning: 'First a look and a count.',
      calls: [
        { tool: 'look', input: { step: 1 } },
        { tool: 'look', input: { step: 2 } },
        { tool: 'count', input: { step: 3 } },
      ],
    },
    { calls: [{ tool: 'pay', input: { step: 4 } }] },
    {
      text: 'Now the mail.',
      calls: [
        { tool: 'mail', input: { step: 5 } },
        { tool: 'count', input: { step: 6 } },
      ],
    },
    { text: 'All is done.' },
  ],
});

export const crashFree = ['look done', 'look done', 'count done', 'pay done', 'mail done', 'count done'];
