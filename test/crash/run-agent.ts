import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Agent, defineAgent, defineScript, defineTool, type ToolContext } from '../../src/index.ts';
import type { SessionId } from '../../src/schema/ids.ts';

/** Places in a tool where its process may die. */
export type ToolPlace = 'before' | 'after';

const fileOf = (folder: string, session: SessionId, name: string): string => join(folder, `${session}-${name}`);

/** The lines that a tool wrote for a session, one for each execution. */
export const doneIn = (folder: string, session: SessionId, name: string): readonly string[] => {
  const file = fileOf(folder, session, name);
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
};

export const note = (folder: string, session: SessionId, name: string, line: string): void =>
  appendFileSync(fileOf(folder, session, name), `${line}\n`);

type Die = (session: SessionId, tool: string, place: ToolPlace) => Promise<void>;

/** An agent with one tool for every class of effects. The tools record their executions in files of the folder. */
export const crashAgent = (folder: string, die: Die = async () => undefined): Agent => {
  const act = async (tool: string, { session, idempotencyKey }: ToolContext): Promise<string> => {
    await die(session, tool, 'before');
    note(folder, session, tool, idempotencyKey);
    await die(session, tool, 'after');
    return `${tool} done`;
  };
  const isDone = (tool: string, { session, idempotencyKey }: Pick<ToolContext, 'session' | 'idempotencyKey'>) =>
    doneIn(folder, session, tool).includes(idempotencyKey);
  const input = z.object({ step: z.number() });
  return defineAgent({
    name: 'crasher',
    version: 1,
    model: crashScript,
    tools: [
      defineTool({ name: 'look', input, effects: 'none', execute: (_, context) => act('look', context) }),
      defineTool({
        name: 'count',
        input,
        effects: 'idempotent',
        execute: async (_, context) => (isDone('count', context) ? 'count done' : act('count', context)),
      }),
      defineTool({ name: 'pay', input, execute: (_, context) => act('pay', context) }),
      defineTool({
        name: 'mail',
        input,
        execute: (_, context) => act('mail', context),
        reconcile: (_, context) =>
          isDone('mail', context) ? { outcome: 'ok', output: 'mail done' } : { outcome: 'not-run' },
      }),
    ],
  });
};

const crashScript = defineScript({
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
