import { z } from 'zod';
import type { Command, OptionSpec } from '../parse/command.ts';
import { optionsOf } from '../parse/common-options.ts';
import { environment } from '../parse/environment.ts';
import { exitTable } from '../parse/exit-codes.ts';

const OptionHelp = z.strictObject({
  name: z.string(),
  short: z.string().optional(),
  /** Name of the expected value; a flag has none. */
  value: z.string().optional(),
  choices: z.array(z.string()).optional(),
  multiple: z.boolean(),
  about: z.string(),
});

const CommandHelp = z.strictObject({
  name: z.string(),
  summary: z.string(),
  args: z.array(z.string()),
  options: z.array(OptionHelp),
  notes: z.array(z.string()),
  examples: z.array(z.string()),
  /** Whether `--json` writes one value on each line. */
  jsonLines: z.boolean(),
});

/** The `--json` output of `perdure help`: commands, or a topic. */
export const HelpView = z.union([
  z.strictObject({ commands: z.array(CommandHelp) }),
  z.strictObject({ exitCodes: z.array(z.strictObject({ code: z.int(), about: z.string() })) }),
  z.strictObject({
    environment: z.array(z.strictObject({ group: z.string(), name: z.string(), about: z.string() })),
  }),
]);
export type HelpView = z.infer<typeof HelpView>;

const optionView = (name: string, { about, short, ...spec }: OptionSpec): z.infer<typeof OptionHelp> => ({
  name,
  ...(short && { short }),
  ...(spec.type === 'string' && { value: spec.value, ...(spec.choices && { choices: [...spec.choices] }) }),
  multiple: (spec.type === 'string' && spec.multiple) ?? false,
  about,
});

const commandView = (command: Command): z.infer<typeof CommandHelp> => ({
  name: command.name,
  summary: command.summary,
  args: [...command.args],
  options: Object.entries(optionsOf(command)).map(([name, spec]) => optionView(name, spec)),
  notes: [...(command.notes ?? [])],
  examples: [...command.examples],
  jsonLines: command.jsonLines ?? false,
});

export const commandsView = (commands: readonly Command[]): HelpView => ({ commands: commands.map(commandView) });

export const exitCodesView = (): HelpView => ({
  exitCodes: Object.values(exitTable).map(({ code, about }) => ({ code, about })),
});

export const environmentView = (): HelpView => ({
  environment: Object.entries(environment).flatMap(([group, variables]) =>
    Object.entries(variables).map(([name, about]) => ({ group, name, about })),
  ),
});
