import { defineCommand } from '../../parse/command.ts';
import { HelpView } from '../../render/help-view.ts';

export const help = defineCommand({
  name: 'help',
  summary: 'list the commands, or describe a command, a group or a topic',
  args: ['[COMMAND…]'],
  options: {},
  notes: [
    'Instead of COMMAND, give a group, such as look or files, or a topic: all, exit-codes or environment. `perdure COMMAND --help` does the same for a command.',
  ],
  examples: [
    'perdure help',
    'perdure help files get',
    'perdure help look',
    'perdure help exit-codes',
    `perdure help --json | jq -r '.commands[].name'`,
  ],
  backingOptions: [],
  json: HelpView,
  run: async (context, { args }) => {
    const { lines, json } = context.help.on(args);
    await context.answer(context.json ? json() : undefined, () => lines(context.out));
  },
});
