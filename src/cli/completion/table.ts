import { help } from '../commands/setup/help.ts';
import { backingOptions, type Command, type Context, flag, type OptionSpec, type Options } from '../parse/command.ts';
import { commonOptions, commonOptionsOf, optionsOf } from '../parse/common-options.ts';
import type { Listing } from '../render/listings.ts';
import { shells } from './shells.ts';

/** What can be completed for a word: fixed choices, a listing of `perdure complete`, a local file, or anything. */
type Kind = string;
const anything: Kind = '@';
const flagKind: Kind = '-';
const command: Kind = 'command';

const listing = (name: Listing | 'files' | 'folders'): Kind => `@${name}`;

const kinds: Readonly<Record<string, Kind>> = {
  SESSION: listing('sessions'),
  BRANCH: listing('sessions'),
  POINT: listing('turns'),
  AGENT: listing('agents'),
  WORKSPACE: listing('workspaces'),
  FILE: listing('files'),
  FOLDER: listing('folders'),
};
const argumentKinds: Readonly<Record<string, Kind>> = {
  ...kinds,
  'SESSION|FILE': listing('sessions'),
  APPROVAL: listing('approvals'),
  MEMBER: listing('members'),
  KEY: listing('keys'),
  WEBHOOK: listing('webhooks'),
  SECRET: listing('secrets'),
  TURN: listing('turns'),
  FROM: listing('places'),
  TO: listing('places'),
  PLACE: listing('places'),
  PATH: listing('paths'),
  SHELL: shells.join('|'),
};

const kindOf = (spec: OptionSpec): Kind => {
  if (spec.type === 'boolean') return flagKind;
  return spec.choices?.join('|') ?? kinds[spec.value] ?? anything;
};

/** One line of a command's table: the word, its kind or the kind of its value, and its description. */
export type Row = readonly [name: string, kind: Kind, about: string];

const optionRows = (name: string, spec: OptionSpec): readonly Row[] => [
  [`--${name}`, kindOf(spec), spec.about],
  ...(spec.short ? [[`-${spec.short}`, kindOf(spec), spec.about] as const] : []),
];

const argumentRow = (name: string, index: number): Row => [
  name.includes('…') ? '*' : String(index),
  argumentKinds[name.replace(/[[\]…]/g, '')] ?? anything,
  name,
];

const rowsOfOptions = (options: Options): readonly Row[] =>
  Object.entries(options).flatMap(([name, spec]) => optionRows(name, spec));

const rowsOf = (command: Command): readonly Row[] => [
  ...command.args.map(argumentRow),
  ...rowsOfOptions(optionsOf(command)),
];

/** Options that can precede any command, or replace it. */
const { help: helpOption, json, ...others } = commonOptions;
const leading = { help: helpOption, version: flag('the release'), json, ...others };
const leadingRows = rowsOfOptions(leading);

/** Options that may appear between the two words of a command. */
const commonToAny = (group: readonly Command[]): Options => Object.assign({}, ...group.map(commonOptionsOf));

const headOf = ({ name }: Command): string => name.split(' ')[0]!;

export interface CompletionTable {
  /** Rows by the part of a command that has been typed: nothing yet, the first of two words, or its whole name. */
  readonly rows: ReadonlyMap<string, readonly Row[]>;
  /** Words that must be followed by another word of the command: first words of two-word commands, and `help`. */
  readonly heads: readonly string[];
  /** Options that require a value, in any command. */
  readonly taking: readonly string[];
  /** Options that select the store or server from which ids are listed. */
  readonly backingOptions: readonly string[];
}

/** Help topics beside commands. */
export type Topics = Context['help']['topics'];

export const completionTable = (commands: readonly Command[], topics: Topics): CompletionTable => {
  const heads = [...new Set(commands.filter(({ name }) => name.includes(' ')).map(headOf))];
  const about = (head: string): string => {
    const words = commands.filter((each) => headOf(each) === head).map(({ name }) => name.slice(head.length + 1));
    return words.join(', ');
  };
  const first: readonly Row[] = [
    ...commands.filter(({ name }) => !name.includes(' ')).map(({ name, summary }) => [name, command, summary] as const),
    ...heads.map((head) => [head, command, about(head)] as const),
  ];
  const groups = heads.map((head) => {
    const group = commands.filter((each) => each.name.startsWith(`${head} `));
    const words = group.map(({ name, summary }): Row => [name.slice(head.length + 1), command, summary]);
    return { head, words, options: rowsOfOptions(commonToAny(group)) };
  });
  const helpRows: readonly Row[] = [
    ...first,
    ...Object.entries(topics).flatMap(([name, topic]) =>
      heads.includes(name) ? [] : [[name, command, topic.about] as const],
    ),
    ...rowsOf(help),
  ];
  const rows = new Map([
    ['', [...first, ...leadingRows]] as const,
    ...groups.map(({ head, words, options }) => [head, [...words, ...options]] as const),
    ...commands.map((each) => [each.name, rowsOf(each)] as const),
    [help.name, helpRows] as const,
    ...groups.map(
      ({ head, words }) => [`${help.name} ${head}`, [...words, ...rowsOfOptions(optionsOf(help))]] as const,
    ),
  ]);
  const all = [...rows.values()].flat();
  const taking = all.flatMap(([name, kind]) => (name.startsWith('-') && kind !== flagKind ? [name] : []));
  return {
    rows,
    heads: [...heads, help.name],
    taking: [...new Set(taking)],
    backingOptions: backingOptions.map((name) => `--${name}`),
  };
};
