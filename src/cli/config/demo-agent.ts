import { setTimeout as sleep } from 'node:timers/promises';
import { defineAgent } from '../../index.ts';
import { askTool, builtInTools, defineShellTool, rememberTool } from '../../tools/index.ts';
import type { Env } from '../parse/world.ts';
import type { Agent, Config } from './config.ts';
import { demoTour } from './demo-script.ts';

const wordMs = 25;
const identity = { name: 'demo', version: 1 } as const;

/** Default model of the demo agent for each provider key. PERDURE_MODEL overrides it. */
const usualModels: Readonly<Record<string, string>> = {
  ANTHROPIC_API_KEY: 'anthropic/claude-sonnet-5-5',
  OPENAI_API_KEY: 'openai/gpt-5.6',
};

/** The model of the demo agent. Returns undefined if none is configured; a script then answers. */
const demoModel = (env: Env): string | undefined =>
  env.PERDURE_MODEL || Object.entries(usualModels).find(([key]) => env[key]?.trim())?.[1];

const thinking = (model: string): Agent =>
  defineAgent({
    ...identity,
    model,
    instructions:
      'You work in the folder of a session whose log keeps all you say and do. Look before you change things, say briefly what you did, and record decisions with their reasons.',
    tools: builtInTools,
  });

/** The agent for users without an API key of a provider. */
export const demoAgent = defineAgent({
  ...identity,
  model: demoTour,
  instructions: 'You are a script and show what a durable session is.',
  tools: [rememberTool, askTool, defineShellTool({ approval: ({ command }) => command.startsWith('rm ') })],
});

/**
 * The configuration used when no file exists. The script writes as slowly as a model would, so that it can be
 * interrupted midway.
 */
export const demoConfig = (env: Env): Config & { readonly agents: readonly [Agent] } => {
  const model = demoModel(env);
  return {
    agents: [model === undefined ? demoAgent : thinking(model)],
    models: { env, pause: (signal) => sleep(wordMs, undefined, { signal }) },
  };
};
