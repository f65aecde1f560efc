import { optionName, signature } from '../../src/cli/dispatch/help.ts';
import { type CommandGroup, commandGroups } from '../../src/cli/dispatch/registry.ts';
import type { Command, Options } from '../../src/cli/parse/command.ts';
import { commonOptions, commonOptionsOf } from '../../src/cli/parse/common-options.ts';
import { environment } from '../../src/cli/parse/environment.ts';
import { exitTable } from '../../src/cli/parse/exit-codes.ts';
import { code, linkTo, table } from '../markdown.ts';
import { markdownPage, type Page } from './page.ts';
import { schemaOf, titledShape } from './shapes.ts';

const titleOf = ({ name }: Command): string => `perdure ${name}`;

const optionTable = (options: Options): readonly string[] =>
  table(
    ['Option', 'What it does'],
    Object.entries(options).map(([name, spec]) => [code(optionName(name, spec)), spec.about]),
  );

const jsonTitle = ({ jsonLines }: Command): string => (jsonLines ? 'With `--json`, on each line' : 'With `--json`');
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const commonTitle = 'Options of most commands';

/** The note for a command that does not accept all common options. */
const leftOf = (command: Command): string => {
  if (!command.backingOptions) return '';
  const names = Object.keys(commonOptionsOf(command)).map((name) => code(`--${name}`));
  return ` Of the ${linkTo(commonTitle, commonTitle.toLowerCase())} it takes ${names.join(', ')}.`;
};

const section = (command: Command): readonly string[] => [
  `### ${titleOf(command)}`,
  '',
  `${sentence(command.summary)}${leftOf(command)}`,
  '',
  '```text',
  signature(command),
  '```',
  ...(Object.keys(command.options).length > 0 ? ['', ...optionTable(command.options)] : []),
  ...(command.notes ?? []).flatMap((note) => ['', note]),
  '',
  '```text',
  ...command.examples,
  '```',
  '',
  ...titledShape(jsonTitle(command), schemaOf(command.json)),
];

const headingOf = ({ name }: CommandGroup): string => name.charAt(0).toUpperCase() + name.slice(1);

const index = commandGroups.flatMap((group) => [
  [`**${linkTo(headingOf(group))}**`, `**${group.about}**`],
  ...group.commands.map((command) => [linkTo(titleOf(command), code(command.name)), command.summary]),
]);

export const cliPage: Page = {
  path: 'docs/reference/cli.md',
  render: () =>
    markdownPage(
      'The command',
      '`perdure COMMAND [arguments] [options]`. `perdure help COMMAND` tells the same in a terminal. In arguments, `SESSION` is needed, `[TEXT]` may be left out, and `…` means any number. In examples, `ses_…` stands for an id; `# needs …` says what an example needs beside what stands there, and `# until Ctrl-C` that it goes on until you press that.',
      `On this page: ${['Commands', commonTitle, 'Exit codes', 'Environment'].map((title) => linkTo(title)).join(', ')}.`,
      '## Commands',
      table(['Command', 'What it does'], index),
      ...commandGroups.flatMap((group) => [
        `## ${headingOf(group)}`,
        sentence(group.about),
        ...group.commands.map(section),
      ]),
      `## ${commonTitle}`,
      'A command refuses those that mean nothing to it.',
      optionTable(commonOptions),
      '## Exit codes',
      table(
        ['Code', 'Meaning'],
        Object.values(exitTable).map((each) => [String(each.code), each.about]),
      ),
      'The [errors](errors.md) page says which error ends with which code.',
      '## Environment',
      table(
        ['Variable', 'What it does'],
        Object.entries(environment['The command']!).map(([name, about]) => [code(name), about]),
      ),
      '`perdure help environment` tells them too. All others are in [configuration](configuration.md#environment).',
    ),
};
