import { defineCommand } from '../command.ts';

export const demo = defineCommand({
  name: 'demo',
  summary: 'watch a run be killed in the middle and go on; takes less than a minute',
  args: [],
  options: {},
  notes: ['It happens in a temporary folder, needs no key and no network, and what answers is a script, not a model.'],
  examples: ['perdure demo'],
  isLocal: true,
  run: async (context) => (await import('../runs/show-demo.ts')).showDemo(context),
});
