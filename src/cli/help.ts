import type { Command, OptionSpec, Options } from './command.ts';
import { commands } from './commands/registry.ts';
import { wrap } from './display-width.ts';
import { commonOptions } from './parse-call.ts';
import type { Terminal } from './terminal.ts';

const signature = ({ name, args, options }: Command): string =>
  ['perdure', name, ...args, ...(Object.keys(options).length > 0 ? ['[options]'] : [])].join(' ');

const optionName = (name: string, spec: OptionSpec): string => {
  const long = spec.type === 'string' ? `--${name} ${spec.value}${spec.multiple ? '…' : ''}` : `--${name}`;
  return spec.short ? `-${spec.short}, ${long}` : long;
};

/** Names on the left, what they mean beside them, wrapped to the width. */
const twoColumns = (rows: readonly (readonly [string, string])[], width: number): readonly string[] => {
  const left = Math.max(...rows.map(([name]) => name.length)) + 4;
  return rows.flatMap(([name, about]) =>
    wrap(about, Math.max(20, width - left)).map(
      (line, index) => (index === 0 ? `  ${name}`.padEnd(left) : ' '.repeat(left)) + line,
    ),
  );
};

const optionRows = (options: Options): readonly (readonly [string, string])[] =>
  Object.entries(options).map(([name, spec]) => [optionName(name, spec), spec.about]);

const helpWidth = ({ columns }: Terminal): number => Math.min(columns, 100);

export const commandHelp = (command: Command, out: Terminal): readonly string[] => {
  const width = helpWidth(out);
  const title = (text: string): readonly string[] => ['', out.style('bold', text)];
  return [
    `${out.style('bold', signature(command))}`,
    ...wrap(command.summary, width),
    ...title('options'),
    ...twoColumns(optionRows({ ...command.options, ...commonOptions }), width),
    ...(command.notes ? ['', ...command.notes.flatMap((note) => wrap(note, width))] : []),
    ...title('examples'),
    ...command.examples.map((example) => `  ${example}`),
  ];
};

/** Several that belong together. */
export const groupHelp = (group: readonly Command[], out: Terminal): readonly string[] => [
  ...twoColumns(
    group.map(({ name, summary }) => [`perdure ${name}`, summary]),
    helpWidth(out),
  ),
  '',
  ...wrap(
    `\`perdure help ${group[0]!.name}\` and so on tell the arguments, options and examples of each`,
    helpWidth(out),
  ),
];

export const overview = (version: string, out: Terminal): readonly string[] => {
  const width = helpWidth(out);
  const title = (text: string): readonly string[] => ['', out.style('bold', text)];
  return [
    `${out.style('bold', 'perdure')} ${version}: durable sessions for agents`,
    ...title('usage'),
    '  perdure COMMAND [arguments] [options]',
    ...title('commands'),
    ...twoColumns(
      commands.map(({ name, summary }) => [name, summary]),
      width,
    ),
    ...title('options of every command'),
    ...twoColumns(optionRows(commonOptions), width),
    ...title('more'),
    ...twoColumns(
      [
        ['perdure help COMMAND', 'its arguments, options and examples'],
        ['perdure --version', 'the release'],
      ],
      width,
    ),
  ];
};
