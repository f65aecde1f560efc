import { basename } from 'node:path';
import { z } from 'zod';
import { type Context, defineCommand } from '../parse/command.ts';
import { parseOneOf } from '../parse/one-of.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { wrap } from '../terminal/display-width.ts';
import { type Shell, shells, startups } from './shells.ts';

const ownShell = ({ env: { SHELL = '' } }: Context): Shell => {
  const own = shells.find((each) => each === basename(SHELL));
  if (own) return own;
  throw wrongCall(`${SHELL ? `SHELL is ${SHELL}` : 'SHELL is not set'}: name a shell, ${shells.join(', ')}`);
};

export const completion = defineCommand({
  name: 'completion',
  summary: 'print a script that makes a shell complete commands, options and ids',
  args: ['[SHELL]'],
  options: {},
  notes: [
    `SHELL is bash, zsh or fish; default that of the environment, in which case a terminal shows how to use it. Put the line for your shell into its startup file: ${shells.map((shell) => startups[shell].file).join('; ')}.`,
  ],
  examples: ['perdure completion', ...shells.map((shell) => startups[shell].line)],
  backingOptions: [],
  json: z.strictObject({ shell: z.enum(shells), script: z.string() }),
  run: async (context, { args: [named] }) => {
    const shell = named === undefined ? ownShell(context) : parseOneOf('SHELL', shells, named);
    const { completionScript } = await import('./index.ts');
    const script = completionScript(shell, context.commands, context.help.topics);
    const { file, line } = startups[shell];
    await context.answer({ shell, script }, () =>
      named === undefined && context.out.isTerminal
        ? [...wrap(`To complete in ${shell}, put this line into ${file}:`, context.out.columns), `  ${line}`]
        : script.trimEnd().split('\n'),
    );
  },
});
