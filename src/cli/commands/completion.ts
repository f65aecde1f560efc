import { z } from 'zod';
import { defineCommand } from '../command.ts';
import { shells } from '../completion/shells.ts';
import { parseOneOf } from '../one-of.ts';

export const completion = defineCommand({
  name: 'completion',
  summary: 'print what makes a shell complete commands, options and ids',
  args: ['SHELL'],
  options: {},
  notes: [
    'SHELL is bash, zsh or fish. Put the line of your shell into its startup file: ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish.',
  ],
  examples: [
    'eval "$(perdure completion bash)"',
    'eval "$(perdure completion zsh)"',
    'perdure completion fish | source',
  ],
  backingOptions: [],
  json: z.strictObject({ shell: z.enum(shells), script: z.string() }),
  run: async (context, { args: [named] }) => {
    const shell = parseOneOf('SHELL', shells, named!);
    const { completionScript } = await import('../completion/index.ts');
    const script = completionScript(shell, context.commands, context.help.topics);
    await context.answer({ shell, script }, () => script.trimEnd().split('\n'));
  },
});
