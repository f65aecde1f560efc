import { type Command, flag, type Options, type Place, places, text } from './command.ts';
import { defaultStore } from './store-address.ts';

/** Options of every command, but for those places that mean nothing to it. */
export const commonOptions = {
  store: text('ADDRESS', `sqlite:PATH or postgres://…; else PERDURE_STORE, else ${defaultStore}`),
  server: text('URL', 'a server in place of a store; else PERDURE_SERVER. Its key is in PERDURE_KEY'),
  'key-file': text('FILE', 'where the key for the server is; of one that was started here it is found'),
  config: text('FILE', 'agents and models; else perdure.config.ts, .mjs or .js here'),
  workspace: text('WORKSPACE', 'the tenant; else PERDURE_WORKSPACE, else local'),
  json: flag('answer in JSON, for programs'),
  help: flag('show this help', 'h'),
} as const satisfies Options;

export const placesOf = ({ places: own = places }: Command): readonly Place[] => own;

const isPlace = (name: string): name is Place => places.some((place) => place === name);

export const commonOptionsOf = (command: Command): Options =>
  Object.fromEntries(
    Object.entries(commonOptions).filter(([name]) => !isPlace(name) || placesOf(command).includes(name)),
  );

/** All that a command takes. */
export const optionsOf = (command: Command): Options => ({ ...command.options, ...commonOptionsOf(command) });
