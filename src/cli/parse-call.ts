import { parseArgs } from 'node:util';
import type { Call, Command, Options } from './command.ts';
import { commands, findCommand } from './commands/registry.ts';
import { commonOptions } from './common-options.ts';
import { topics } from './help.ts';
import { nearest } from './nearest.ts';
import { parseOneOf } from './one-of.ts';
import { wrongCall } from './wrong-call.ts';

export type ParsedCall =
  | { readonly kind: 'version'; readonly json: boolean }
  | { readonly kind: 'help'; readonly about?: Command | readonly Command[] | string | undefined }
  | ({ readonly kind: 'run'; readonly command: Command } & Call<typeof commonOptions>);

export type RunCall = Extract<ParsedCall, { kind: 'run' }>;

/** Commands of two words that begin with the same one, such as `files ls`. */
const groupOf = (word: string): readonly Command[] => commands.filter(({ name }) => name.startsWith(`${word} `));

/** What people type who know other tools. */
const otherWords: Readonly<Record<string, string>> = {
  list: 'ls',
  sessions: 'ls',
  status: 'show',
  history: 'log',
  events: 'log',
  transcript: 'show',
  new: 'open',
  create: 'open',
  run: 'send',
  ask: 'send',
  message: 'append',
  stop: 'cancel',
  kill: 'cancel',
  undo: 'rewind',
  branch: 'fork',
  merge: 'adopt',
  start: 'serve',
  login: 'keys create',
  secrets: 'vault ls',
  backup: 'export',
  check: 'verify',
  version: '--version',
};

const meantBy = (first: string, second: string): string | undefined => {
  const names = [...commands.map(({ name }) => name), 'help'];
  const heads = names.flatMap((name) => (name.includes(' ') ? [name.split(' ')[0]!] : []));
  const [whole, head] = [nearest(`${first} ${second}`.trim(), names), nearest(first, heads)];
  if (whole) return whole;
  return Object.hasOwn(otherWords, first) ? otherWords[first] : (nearest(first, names) ?? head);
};

const unknownCommand = (first: string, second: string, help: string): Error => {
  const meant = meantBy(first, second);
  const advice = meant ? `did you mean \`perdure ${meant}\`? ` : '';
  return wrongCall(
    `there is no command "${meant?.includes(' ') ? `${first} ${second}`.trim() : first}": ${advice}${help}`,
  );
};

const unknownOf = (group: readonly Command[], first: string, second: string): Error => {
  const help = `\`perdure help ${first}\` tells what each does`;
  const words = group.map(({ name }) => name.slice(first.length + 1)).join(', ');
  return second === ''
    ? wrongCall(`${first} is followed by ${words}: ${help}`)
    : unknownCommand(first, second, `there is ${words}; ${help}`);
};

interface Named {
  readonly command: Command;
  /** How many words its name has. */
  readonly words: number;
}

const commandNamed = ([first = '', second = '']: readonly string[]): Named => {
  const long = findCommand(`${first} ${second}`);
  if (long) return { command: long, words: 2 };
  const command = findCommand(first);
  if (command) return { command, words: 1 };
  const group = groupOf(first);
  throw group.length > 0
    ? unknownOf(group, first, second)
    : unknownCommand(first, second, '`perdure help` lists them all');
};

const topicNames = Object.keys(topics);

const aboutOf = (words: readonly string[]): Command | string | undefined => {
  const [first, ...more] = words;
  if (first === undefined) return undefined;
  if (more.length === 0 && topicNames.includes(first) && !findCommand(first)) return first;
  const topic = nearest(first, topicNames);
  if (topic && !meantBy(first, more[0] ?? ''))
    throw wrongCall(`there is no help on "${first}": did you mean \`perdure help ${topic}\`?`);
  return commandNamed(words).command;
};

/** What Node says of a wrong option, in our words. */
const optionProblem = (error: unknown, command: Command, options: Options): unknown => {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!code?.startsWith('ERR_PARSE_ARGS_')) return error;
  const help = `see \`perdure help ${command.name}\``;
  const unknown = /^Unknown option '(-+)([^']*)'/.exec(message);
  if (unknown) {
    const [, dashes, name = ''] = unknown;
    const meant = dashes === '--' ? nearest(name, Object.keys(options)) : undefined;
    const advice = meant ? `did you mean --${meant}?` : 'text that begins with - goes after --;';
    return wrongCall(`${command.name} has no option ${dashes}${name}: ${advice} ${help}`);
  }
  const name = /--([\w-]+)/.exec(message)?.[1] ?? '';
  if (message.includes('does not take an argument')) return wrongCall(`--${name} takes no value: ${help}`);
  return wrongCall(`--${name} needs a value (write --${name}=VALUE when it begins with -): ${help}`);
};

const checkCount = (command: Command, given: readonly string[]): void => {
  const needed = command.args.filter((arg) => !arg.startsWith('['));
  const help = `see \`perdure help ${command.name}\``;
  const missing = needed[given.length];
  if (missing) throw wrongCall(`${command.name} needs ${missing.replace('…', '')}: ${help}`);
  const most = command.args.some((arg) => arg.includes('…')) ? Number.POSITIVE_INFINITY : command.args.length;
  if (given.length > most) {
    throw wrongCall(`${command.name} takes no further argument "${given[most]}" (quote text with spaces): ${help}`);
  }
};

const checkChoices = (options: Options, values: Readonly<Record<string, unknown>>): void => {
  for (const [name, given] of Object.entries(values)) {
    const spec = options[name]!;
    if (spec.type === 'boolean' || !spec.choices) continue;
    for (const each of [given].flat()) parseOneOf(`--${name}`, spec.choices, each as string);
  }
};

const parseFor = (command: Command, args: readonly string[]): ParsedCall => {
  const options: Options = { ...command.options, ...commonOptions };
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (values.help) return { kind: 'help', about: command };
    checkCount(command, positionals);
    checkChoices(options, values);
    return { kind: 'run', command, args: positionals, options: values as Call<typeof commonOptions>['options'] };
  } catch (error) {
    throw optionProblem(error, command, options);
  }
};

const looseSpec = { ...commonOptions, version: { type: 'boolean' } } as const;

/** What can be told of a call that may be wrong: whether errors are wanted as JSON, and where its store is. */
export const looseOptions = (argv: readonly string[]) => {
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    options: looseSpec,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const places = tokens.flatMap((token) => (token.kind === 'positional' ? [token.index] : []));
  return {
    json: values.json === true,
    version: values.version === true,
    help: values.help === true,
    store: typeof values.store === 'string' ? values.store : undefined,
    /** The options, as they were written. */
    given: tokens.flatMap((token) => (token.kind === 'option' ? [token.rawName] : [])),
    places,
    positionals,
  };
};

/** What bytes that are not UTF-8 have become before we see them. */
const replacement = '\ufffd';

const refuseAltered = (argv: readonly string[]): void => {
  if (!argv.some((arg) => arg.includes(replacement))) return;
  throw wrongCall(
    'an argument holds U+FFFD, the mark of bytes that are not UTF-8: convert it, or give the text on stdin (`append … -`, `commit … --patch -`)',
  );
};

const isOptionOfSome = (given: string): boolean =>
  commands.some(({ options }) =>
    Object.entries(options).some(([name, { short }]) => given === `--${name}` || given === `-${short}`),
  );

const withoutCommand = (argv: readonly string[], given: readonly string[]): Error => {
  const common = Object.keys(looseSpec);
  const unknown = given.find((option) => !common.includes(option.slice(2)) && !isOptionOfSome(option));
  if (unknown) {
    const meant = nearest(unknown.replace(/^-+/, ''), common);
    const advice = meant ? `did you mean --${meant}? ` : '';
    return wrongCall(`there is no option ${unknown}: ${advice}\`perdure help\` lists what there is`);
  }
  const [option] = argv;
  return wrongCall(option ? `${option} needs a command: \`perdure help\` lists them` : 'a command is missing');
};

/** Options of every command may also stand before its name. */
export const parseCall = (argv: readonly string[]): ParsedCall => {
  const { places, positionals, given, version, help, json } = looseOptions(argv);
  refuseAltered(argv);
  if (places.length === 0) {
    if (version) return { kind: 'version', json };
    if (help) return { kind: 'help' };
    throw withoutCommand(argv, given);
  }
  const [name, ...rest] = positionals;
  const about = name === 'help' ? rest : help ? positionals : [];
  const group = about.length === 1 ? groupOf(about[0]!) : [];
  if (group.length > 0) return { kind: 'help', about: group };
  if (name === 'help') return { kind: 'help', about: aboutOf(rest) };
  const { command, words } = commandNamed(positionals);
  const named = new Set(places.slice(0, words));
  return parseFor(
    command,
    argv.filter((_, index) => !named.has(index)),
  );
};
