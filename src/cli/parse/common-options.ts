import { type BackingOption, backingOptions, type Command, flag, type Options, text } from './command.ts';
import { defaultStore } from './store-address.ts';

/** Options of every command. A command may lack backing options that do not apply to it. */
export const commonOptions = {
  store: text('ADDRESS', `sqlite:PATH or postgres://…; default PERDURE_STORE, else ${defaultStore}`),
  server: text('URL', 'a server instead of a store; default PERDURE_SERVER'),
  'key-file': text(
    'FILE',
    'its key; default PERDURE_KEY, else found automatically for a server started in this folder',
  ),
  config: text('FILE', 'agents and models; default perdure.config.ts, .mjs or .js here'),
  workspace: text('WORKSPACE', 'the tenant; default PERDURE_WORKSPACE, else local'),
  json: flag('answer in JSON, for programs'),
  help: flag('show this help', 'h'),
} as const satisfies Options;

export const backingOptionsOf = ({ backingOptions: own = backingOptions }: Command): readonly BackingOption[] => own;

const isBackingOption = (name: string): name is BackingOption => backingOptions.some((each) => each === name);

export const commonOptionsOf = (command: Command): Options =>
  Object.fromEntries(
    Object.entries(commonOptions).filter(
      ([name]) => !isBackingOption(name) || backingOptionsOf(command).includes(name),
    ),
  );

/** All options that a command accepts. */
export const optionsOf = (command: Command): Options => ({ ...command.options, ...commonOptionsOf(command) });
