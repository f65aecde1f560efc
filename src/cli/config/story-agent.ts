import { appendFile, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../index.ts';
import { decideTool, editTool, writeTool } from '../../tools/index.ts';
import type { Config } from './config.ts';
import { storyScript } from './story-script.ts';

const wordMs = 25;
/** Long enough that the process can be killed while the model answers. */
const answerMs = 60_000;

/** A file next to the worktrees, in the folder where the workers are started. Each release appends a line to it. */
export const releases = 'released.txt';

const release = defineTool({
  name: 'release',
  description: 'Releases a version, which can be done once.',
  input: z.object({ version: z.string() }),
  effects: 'once',
  usesFiles: false,
  execute: async ({ version }, { callId, signal, progress }) => {
    await appendFile(releases, `${version} released by process ${process.pid} for ${callId}\n`);
    progress(`released, and answers in a minute: time for \`kill -9 ${process.pid}\``);
    await sleep(answerMs, undefined, { signal });
    return { version };
  },
  reconcile: async ({ version }, { callId }) => {
    const done = await readFile(releases, 'utf8').catch(() => '');
    return done.includes(` for ${callId}\n`) ? { outcome: 'ok', output: { version } } : { outcome: 'not-run' };
  },
});

/** The configuration of `perdure demo`. */
export const storyConfig: Config = {
  agents: [
    defineAgent({
      name: 'coder',
      version: 1,
      model: storyScript,
      instructions: 'You are a script.',
      tools: [writeTool, editTool, decideTool, release],
    }),
  ],
  models: { pause: (signal) => sleep(wordMs, undefined, { signal }) },
};
