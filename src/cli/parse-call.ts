import { parseArgs } from 'node:util';
import { type Call, type Command, flag, type Options, text } from './command.ts';
import { commands, findCommand } from './commands/registry.ts';
import { nearest } from './nearest.ts';
import { defaultStore } from './store-address.ts';
import { wrongCall } from './wrong-call.ts';

export const commonOptions = {
  store: text('ADDRESS', `sqlite:PATH or postgres://…; else PERDURE_STORE, else ${defaultStore}`),
  config: text('FILE', 'agents and models; else perdure.config.ts, .mjs or .js here'),
  workspace: text('NAME', 'the tenant; else PERDURE_WORKSPACE, else local'),
  json: flag('answer in JSON, for programs'),
  help: flag('show this help', 'h'),
} as const satisfies Options;

export type ParsedCall =
  | { readonly kind: 'version'; readonly json: boolean }
  | { readonly kind: 'help'; readonly about?: Command | undefined }
  | ({ readonly kind: 'run'; readonly command: Command } & Call<typeof commonOptions>);

const unknownCommand = (name: string): Error => {
  const meant = nearest(
    name,
    commands.map((command) => command.name),
  );
  const suggestion = meant ? `did you mean \`perdure ${meant}\`? ` : '';
  return wrongCall(`there is no command "${name}": ${suggestion}\`perdure help\` lists them all`);
};

const commandNamed = (name: string): Command => {
  const command = findCommand(name);
  if (!command) throw unknownCommand(name);
  return command;
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

const parseFor = (command: Command, args: readonly string[]): ParsedCall => {
  const options: Options = { ...command.options, ...commonOptions };
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (values.help) return { kind: 'help', about: command };
    checkCount(command, positionals);
    return { kind: 'run', command, args: positionals, options: values as Call<typeof commonOptions>['options'] };
  } catch (error) {
    throw optionProblem(error, command, options);
  }
};

/** What can be told of a call that may be wrong: whether errors are wanted as JSON, and where its store is. */
export const looseOptions = (argv: readonly string[]) => {
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    options: { ...commonOptions, version: { type: 'boolean' } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const first = tokens.find((token) => token.kind === 'positional');
  return {
    json: values.json === true,
    version: values.version === true,
    store: typeof values.store === 'string' ? values.store : undefined,
    commandIndex: first?.index,
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

/** Options of every command may also stand before its name. */
export const parseCall = (argv: readonly string[]): ParsedCall => {
  const { commandIndex, positionals, version, json } = looseOptions(argv);
  refuseAltered(argv);
  if (commandIndex === undefined) {
    if (version) return { kind: 'version', json };
    if (argv.some((arg) => arg === '--help' || arg === '-h')) return { kind: 'help' };
    const [option] = argv;
    throw wrongCall(option ? `${option} needs a command: \`perdure help\` lists them` : 'a command is missing');
  }
  const [name = '', about] = positionals;
  if (name !== 'help') return parseFor(commandNamed(name), argv.toSpliced(commandIndex, 1));
  return { kind: 'help', about: about === undefined ? undefined : commandNamed(about) };
};
