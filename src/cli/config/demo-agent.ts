import { setTimeout as sleep } from 'node:timers/promises';
import { defineAgent } from '../../index.ts';
import { askTool, defineShellTool, rememberTool } from '../../tools/index.ts';
import type { Config } from './config.ts';
import { demoTour } from './demo-script.ts';

const wordMs = 25;

export const demoAgent = defineAgent({
  name: 'demo',
  version: 1,
  instructions: 'You are a script and show what a durable session is.',
  model: `scripted/${demoTour.name}`,
  tools: [rememberTool, askTool, defineShellTool({ approval: ({ command }) => command.startsWith('rm ') })],
});

/** Where there is no configuration. Words come as slowly as a model's, so that there is a middle to stop in. */
export const demoConfig: Config = {
  agents: [demoAgent],
  models: { scripts: [demoTour], pause: (signal) => sleep(wordMs, undefined, { signal }) },
};
