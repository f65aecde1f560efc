import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent, Config } from './config.ts';
import { demoTour } from './demo-script.ts';

type Tool = Agent['tools'] extends ReadonlyMap<string, infer T> ? T : never;
type Given = Pick<Tool, 'name' | 'description' | 'execute'> &
  Partial<Pick<Tool, 'effects' | 'question' | 'change' | 'approvalFor'>>;

const countingMs = 400;
const wordMs = 25;

/** Its only caller is the script, whose inputs are known to be right. */
const demoTool = (given: Given): Tool => ({
  effects: 'idempotent',
  approvalFor: () => undefined,
  inputSchema: { type: 'object' },
  timeoutMs: 60_000,
  retry: { times: 0, backoffMs: 0 },
  trusted: false,
  parse: (input) => ({ value: input }),
  ...given,
});

const note = demoTool({
  name: 'note',
  description: 'Keeps a fact in the state of the session.',
  execute: ({ key }: { key: string }) => `noted ${key}`,
  change: (draft, { key, value }: { key: string; value: number }) => {
    draft.facts[key] = value;
  },
});

const count = demoTool({
  name: 'count',
  description: 'Counts, slowly. Counting twice does no harm.',
  execute: async ({ to }: { to: number }, { signal, progress }) => {
    for (let n = 1; n <= to; n++) {
      progress(`${n} of ${to}`);
      await sleep(countingMs, undefined, { signal });
    }
    return `counted to ${to}`;
  },
});

const pretendDelete = demoTool({
  name: 'pretend_delete',
  description: 'Asks for an approval and deletes nothing.',
  approvalFor: () => ({}),
  execute: ({ what }: { what: string }) => `nothing was deleted, and ${what} least of all`,
});

const ask = demoTool({
  name: 'ask',
  description: 'Asks the person something.',
  effects: 'none',
  question: ({ question }: { question: string }) => ({ text: question }),
  execute: () => undefined,
});

const tools = [note, count, pretendDelete, ask];

export const demoAgent: Agent = {
  name: 'demo',
  version: 1,
  instructions: 'You are a script and show what a durable session is.',
  model: `scripted/${demoTour.name}`,
  settings: {},
  tools: new Map(tools.map((tool) => [tool.name, tool])),
  maxSteps: 20,
  initial: {},
  hasState: false,
  schemaHash: createHash('sha256').update('null').digest('hex'),
  problems: () => [],
};

/** Where there is no configuration. Words come as slowly as a model's, so that there is a middle to stop in. */
export const demoConfig: Config = {
  agents: [demoAgent],
  models: { scripts: [demoTour], pause: (signal) => sleep(wordMs, undefined, { signal }) },
};
