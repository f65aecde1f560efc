import type { Command, OptionSpec, Options } from '../parse/command.ts';
import { commonOptions, optionsOf } from '../parse/common-options.ts';
import { environment } from '../parse/environment.ts';
import { exitTable } from '../parse/exit-codes.ts';
import { commandsView, environmentView, exitCodesView, type HelpView } from '../render/help-view.ts';
import { wrapCommand } from '../render/wrap-command.ts';
import { wrap } from '../terminal/display-width.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { twoColumns } from '../terminal/two-columns.ts';
import { type CommandGroup, commandGroups, commands, firstCommands } from './registry.ts';

export const signature = ({ name, args, options }: Command): string =>
  ['perdure', name, ...args, ...(Object.keys(options).length > 0 ? ['[options]'] : [])].join(' ');

export const optionName = (name: string, spec: OptionSpec): string => {
  const long = spec.type === 'string' ? `--${name} ${spec.value}${spec.multiple ? '…' : ''}` : `--${name}`;
  return spec.short ? `-${spec.short}, ${long}` : long;
};

const optionRows = (options: Options): readonly (readonly [string, string])[] =>
  Object.entries(options).map(([name, spec]) => [optionName(name, spec), spec.about]);

const helpWidth = ({ columns }: Terminal): number => Math.min(columns, 100);

export const commandHelp = (command: Command, out: Terminal): readonly string[] => {
  const width = helpWidth(out);
  return [
    ...wrap(signature(command), width).map((line) => out.style('bold', line)),
    ...wrap(command.summary, width),
    ...title('options', out),
    ...twoColumns(optionRows(optionsOf(command)), width),
    ...(command.notes ? ['', ...command.notes.flatMap((note) => wrap(note, width))] : []),
    ...title('examples', out),
    ...command.examples.flatMap((example) => wrapCommand(example, width, '  ')),
  ];
};

/** Help on the commands of one group. */
export const groupHelp = (group: readonly Command[], out: Terminal): readonly string[] => [
  ...twoColumns(
    group.map(({ name, summary }) => [`perdure ${name}`, summary]),
    helpWidth(out),
  ),
  '',
  ...wrap(
    `for arguments, options and examples, ask for one of them: \`perdure help ${group[0]!.name}\``,
    helpWidth(out),
  ),
];

const namesOf = (group: readonly Command[]): readonly string[] => {
  const words = new Map<string, string[]>();
  for (const { name } of group) {
    const [first = '', second] = name.split(' ');
    words.set(first, [...(words.get(first) ?? []), ...(second === undefined ? [] : [second])]);
  }
  return [...words].map(([first, seconds]) => (seconds.length > 0 ? `${first} ${seconds.join('|')}` : first));
};

const title = (text: string, out: Terminal): readonly string[] => ['', out.style('bold', text)];

/** Help that fits one screen: the most used commands, and the names of all. */
export const overview = (version: string, out: Terminal): readonly string[] => {
  const width = helpWidth(out);
  return [
    ...wrap(`perdure ${version}: durable sessions for agents`, width).map((line, index) =>
      index === 0 ? line.replace('perdure', out.style('bold', 'perdure')) : line,
    ),
    '  perdure COMMAND [arguments] [options]',
    ...title('start here', out),
    ...twoColumns(
      firstCommands.map(({ name, summary }) => [name, summary]),
      width,
    ),
    ...title('all commands', out),
    ...twoColumns(
      commandGroups.map(({ name, commands: group }) => [name, namesOf(group).join(', ')]),
      width,
    ),
    ...title('common options', out),
    ...twoColumns(optionRows(commonOptions), width),
    ...title('naming things', out),
    ...wrap(
      'Name a SESSION by its id, by enough of its first characters to be unique, by its last 4 characters or more, or by - for the one that changed last. Name a run, approval, key or webhook by its first or last 4 characters or more.',
      width - 2,
    ).map((line) => `  ${line}`),
    ...title('more', out),
    ...twoColumns(
      [
        ['perdure help COMMAND', 'its arguments, options and examples; perdure help look shows a group'],
        ...['all', 'exit-codes', 'environment'].map((name) => [`perdure help ${name}`, topics[name]!.about] as const),
        ['perdure completion', 'how to complete commands in bash, zsh or fish'],
        ['perdure --version', 'the release'],
      ],
      width,
    ),
  ];
};

/** The commands of a group below its heading. */
const listed = (group: CommandGroup, out: Terminal): readonly string[] => [
  ...wrap(`${group.name}: ${group.about}`, helpWidth(out)).map((line, index) =>
    index === 0 ? line.replace(group.name, out.style('bold', group.name)) : line,
  ),
  ...twoColumns(
    group.commands.map(({ name, summary }) => [name, summary]),
    helpWidth(out),
  ),
];

const environmentHelp = (out: Terminal): readonly string[] =>
  Object.entries(environment).flatMap(([group, variables], index) => [
    ...(index > 0 ? [''] : []),
    ...wrap(group, helpWidth(out)).map((line) => out.style('bold', line)),
    ...Object.entries(variables).flatMap(([name, about]) => [
      `  ${name}`,
      ...wrap(about, helpWidth(out) - 4).map((line) => `    ${line}`),
    ]),
  ]);

const exitCodesHelp = (out: Terminal): readonly string[] => [
  out.style('bold', 'exit codes'),
  ...twoColumns(
    Object.values(exitTable).map(({ code, about }) => [String(code), about]),
    helpWidth(out),
  ),
  '',
  ...wrap(
    '`send` and `attach` exit as the run they followed ended, and `chat` from a pipe as its last run did. Errors go to stderr, with their code.',
    helpWidth(out),
  ),
];

/** Content of one help page, for people and for programs. */
export interface Topic {
  readonly lines: (out: Terminal) => readonly string[];
  readonly json: () => HelpView;
}

/** Help pages beside those of commands. */
export const topics: Readonly<Record<string, Topic & { readonly about: string }>> = {
  all: {
    about: 'every command and what it does',
    lines: (out) => commandGroups.flatMap((group, index) => [...(index > 0 ? [''] : []), ...listed(group, out)]),
    json: () => commandsView(commands),
  },
  'exit-codes': { about: 'what the exit codes mean', lines: exitCodesHelp, json: exitCodesView },
  environment: { about: 'the environment variables that are read', lines: environmentHelp, json: environmentView },
  ...Object.fromEntries(
    commandGroups.map((group) => [
      group.name,
      {
        about: group.about,
        lines: (out: Terminal) => listed(group, out),
        json: () => commandsView(group.commands),
      },
    ]),
  ),
};
