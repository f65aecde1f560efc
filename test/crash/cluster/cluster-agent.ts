import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type Agent, defineAgent, defineScript, defineTool } from '../../../src/index.ts';

/** Duration of a tool call. Long enough that some workers die in the middle of a call. */
const toolMs = 40;
const wordMs = 3;

const textIn = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** One line for each execution of the tool by any process, in order. */
export const linesOf = (folder: string, name: string): readonly string[] =>
  textIn(join(folder, name)).split('\n').slice(0, -1);

/** Appends with a single write, so that lines of several processes stay intact. */
export const addLine = (folder: string, name: string, line: string): void =>
  appendFileSync(join(folder, name), `${line}\n`);

export const notesFile = 'notes.txt';

/** An agent whose tools record their effects as files in the folder. */
export const clusterAgent = (folder: string): Agent =>
  defineAgent({
    name: 'clerk',
    version: 1,
    model: defineScript({
      name: 'clerk',
      everyTurn: true,
      steps: [
        {
          text: 'First I count and pay.',
          calls: [
            { tool: 'count', input: {} },
            { tool: 'pay', input: {} },
          ],
        },
        { when: { userMatches: 'note' }, calls: [{ tool: 'note', input: {} }] },
        { text: 'Once more.', calls: [{ tool: 'pay', input: {} }] },
        { text: 'All is done.' },
      ],
    }),
    tools: [
      defineTool({
        name: 'pay',
        input: z.object({}),
        usesFiles: false,
        execute: async (_, { idempotencyKey }) => {
          await sleep(toolMs);
          addLine(folder, 'pay', idempotencyKey);
          await sleep(toolMs);
          return 'paid';
        },
      }),
      defineTool({
        name: 'count',
        input: z.object({}),
        effects: 'idempotent',
        usesFiles: false,
        execute: async (_, { idempotencyKey }) => {
          await sleep(toolMs);
          addLine(folder, 'count', idempotencyKey);
          return 'counted';
        },
      }),
      defineTool({
        name: 'note',
        input: z.object({}),
        effects: 'idempotent',
        execute: async (_, { folder: worktree, run }) => {
          const notes = textIn(join(worktree, notesFile));
          await sleep(toolMs);
          if (!notes.includes(run)) writeFileSync(join(worktree, notesFile), `${notes}${run}\n`);
          return 'noted';
        },
      }),
    ],
  });

export const clusterModels = {
  pause: (signal: AbortSignal) => sleep(wordMs, undefined, { signal }),
};
