import { parseArgs } from 'node:util';
import { help as helpCommand } from '../commands/setup/help.ts';
import { backingOptions, type Call, type Command, type Options } from '../parse/command.ts';
import { backingOptionsOf, commonOptions, optionsOf } from '../parse/common-options.ts';
import { nearest } from '../parse/nearest.ts';
import { parseOneOf } from '../parse/one-of.ts';
import { onStoreAlone, wrongCall } from '../parse/wrong-call.ts';
import { commandNamed, groupOf } from './name-command.ts';
import { commands, findCommand } from './registry.ts';

export type ParsedCall =
  | { readonly kind: 'version'; readonly json: boolean }
  | ({ readonly kind: 'run'; readonly command: Command } & Call<typeof commonOptions>);

export type RunCall = Extract<ParsedCall, { kind: 'run' }>;

/** Refuses a common option that does not apply to this command. */
const refuseMeaningless = (command: Command, values: object): void => {
  const taken = backingOptionsOf(command);
  const name = backingOptions.find((each) => Object.hasOwn(values, each) && !taken.includes(each));
  if (name === undefined) return;
  throw (name === 'server' || name === 'key-file') && taken.includes('store')
    ? onStoreAlone(command.name, { isServerNamed: true })
    : wrongCall(`${command.name} does not take --${name}: leave it out`);
};

/** Rewords the errors of Node's option parser. */
const optionProblem = (error: unknown, command: Command): unknown => {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!code?.startsWith('ERR_PARSE_ARGS_')) return error;
  const help = `see \`perdure help ${command.name}\``;
  const unknown = /^Unknown option '(-+)([^']*)'/.exec(message);
  if (unknown) {
    const [, dashes, name = ''] = unknown;
    const meant = dashes === '--' ? nearest(name, Object.keys(optionsOf(command))) : undefined;
    const advice = meant ? `did you mean --${meant}?` : 'put text that begins with - after --;';
    return wrongCall(`${command.name} has no option ${dashes}${name}: ${advice} ${help}`);
  }
  const name = /--([\w-]+)/.exec(message)?.[1] ?? '';
  if (message.includes('does not take an argument')) return wrongCall(`--${name} takes no value: ${help}`);
  return wrongCall(`--${name} needs a value (write --${name}=VALUE if it begins with -): ${help}`);
};

const checkCount = (command: Command, given: readonly string[]): void => {
  const needed = command.args.filter((arg) => !arg.startsWith('['));
  const help = `see \`perdure help ${command.name}\``;
  const missing = needed[given.length];
  if (missing) throw wrongCall(`${command.name} needs ${missing.replace('…', '')}: ${help}`);
  const most = command.args.some((arg) => arg.includes('…')) ? Number.POSITIVE_INFINITY : command.args.length;
  if (given.length > most) {
    throw wrongCall(`${command.name} has no place for "${given[most]}" (quote text with spaces): ${help}`);
  }
};

const checkChoices = (options: Options, values: Readonly<Record<string, unknown>>): void => {
  for (const [name, given] of Object.entries(values)) {
    const spec = options[name]!;
    if (spec.type === 'boolean' || !spec.choices) continue;
    for (const each of [given].flat()) parseOneOf(`--${name}`, spec.choices, each as string);
  }
};

const places = { FILE: 'file', FOLDER: 'folder' } as const;
const isPlace = (name: string): name is keyof typeof places => Object.hasOwn(places, name);

const refuseEmptyNames = (
  { args }: Command,
  given: readonly string[],
  options: Options,
  values: Readonly<Record<string, unknown>>,
): void => {
  const arg = args.find((name, index) => isPlace(name) && given[index] === '');
  if (arg) throw wrongCall(`${arg} is empty: name one`);
  for (const [name, value] of Object.entries(values)) {
    const spec = options[name]!;
    if (spec.type === 'boolean' || !isPlace(spec.value) || ![value].flat().includes('')) continue;
    throw wrongCall(`--${name} names no ${places[spec.value]}: name one`);
  }
};

const callForHelp = (words: readonly string[], json = false): RunCall => ({
  kind: 'run',
  command: helpCommand,
  args: words,
  options: json ? { json } : {},
});

const parseFor = (command: Command, args: readonly string[]): RunCall => {
  const options = { ...command.options, ...commonOptions };
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const json = values.json === true;
    if (values.help) return callForHelp(command.name.split(' '), json);
    if (command === helpCommand) return callForHelp(positionals, json);
    refuseMeaningless(command, values);
    checkCount(command, positionals);
    checkChoices(options, values);
    refuseEmptyNames(command, positionals, options, values);
    return { kind: 'run', command, args: positionals, options: values as Call<typeof commonOptions>['options'] };
  } catch (error) {
    throw optionProblem(error, command);
  }
};

const looseSpec = { ...commonOptions, version: { type: 'boolean' } } as const;

/** Extracts from a possibly wrong call whether errors must be written as JSON, and which store it names. */
export const looseOptions = (argv: readonly string[]) => {
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    options: looseSpec,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const positions = tokens.flatMap((token) => (token.kind === 'positional' ? [token.index] : []));
  return {
    json: values.json === true,
    version: values.version === true,
    help: values.help === true,
    store: typeof values.store === 'string' ? values.store : undefined,
    /** The options as they were typed. */
    given: tokens.flatMap((token) => (token.kind === 'option' ? [token.rawName] : [])),
    /** The options before the first word. */
    early: tokens.flatMap((token) =>
      token.kind === 'option' && token.index < (positions[0] ?? 0) ? [token.rawName] : [],
    ),
    /** Indexes of the positionals in the given arguments. */
    positions,
    positionals,
  };
};

/** Node replaces bytes that are not UTF-8 with this character. */
const replacement = '\ufffd';

const refuseAltered = (argv: readonly string[]): void => {
  if (!argv.some((arg) => arg.includes(replacement))) return;
  throw wrongCall(
    'an argument contains U+FFFD, which stands for bytes that are not UTF-8: convert it, or give the text on stdin (`append … -`, `commit … --patch -`)',
  );
};

type Specs = Readonly<Record<string, { readonly type: string; readonly short?: string }>>;

const isAmong = (specs: Specs, given: string): boolean =>
  Object.entries(specs).some(([name, { short }]) => given === `--${name}` || given === `-${short}`);

const isOfMost = (given: string): boolean => isAmong(looseSpec, given);

const unknownOption = (given: readonly string[]): Error | undefined => {
  const unknown = given.find(
    (option) => !isOfMost(option) && !commands.some(({ options }) => isAmong(options, option)),
  );
  if (unknown === undefined) return undefined;
  const meant = /^-v$/i.test(unknown) ? 'version' : nearest(unknown.replace(/^-+/, ''), Object.keys(looseSpec));
  const advice = meant ? `did you mean --${meant}? ` : '';
  return wrongCall(`there is no option ${unknown}: ${advice}\`perdure help\` lists the options`);
};

const withoutCommand = (argv: readonly string[], given: readonly string[]): Error => {
  const [option] = argv;
  return (
    unknownOption(given) ??
    wrongCall(option ? `${option} needs a command: \`perdure help\` lists them` : 'a command is missing')
  );
};

/**
 * Refuses a command-specific option that precedes the command. Whether the next word is its value depends on the
 * command.
 */
const refuseEarly = (early: readonly string[], words: readonly string[]): void => {
  const unknown = unknownOption(early);
  if (unknown) throw unknown;
  const option = early.find((given) => !isOfMost(given));
  if (option === undefined) return;
  const named = words.flatMap((word, index) => findCommand(`${word} ${words[index + 1]}`) ?? findCommand(word) ?? []);
  const { name } = named.find(({ options }) => isAmong(options, option)) ?? {};
  throw wrongCall(
    name
      ? `${option} is an option of ${name}: put it after the command, \`perdure ${name} ${option} …\``
      : `${option} is an option of some commands: put it after the command; \`perdure help\` lists them`,
  );
};

/** Parses a call. Common options may precede the name of the command. */
export const parseCall = (argv: readonly string[]): ParsedCall => {
  const { positions, positionals, given, early, version, help, json } = looseOptions(argv);
  refuseAltered(argv);
  if (positions.length === 0) {
    if (version) return { kind: 'version', json };
    if (help) return callForHelp([], json);
    throw withoutCommand(argv, given);
  }
  refuseEarly(early, positionals);
  const [name] = positionals;
  if (help && positionals.length === 1 && groupOf(name!).length > 0) return callForHelp(positionals, json);
  const { command, words } = commandNamed(positionals);
  const named = new Set(positions.slice(0, words));
  return parseFor(
    command,
    argv.filter((_, index) => !named.has(index)),
  );
};
