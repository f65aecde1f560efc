import type { ScopedRuntime } from '../core/service/scoped-runtime.ts';
import type { Session } from '../core/service/session.ts';
import type { Runtime, RuntimeOptions } from '../runtime.ts';
import { SessionId, WorkspaceId } from '../schema/ids.ts';
import type { Context, Watching } from './command.ts';
import type { Config } from './config/config.ts';
import { findConfig, loadConfig } from './config/load-config.ts';
import { wrap } from './display-width.ts';
import type { ParsedCall } from './parse-call.ts';
import { printable, printableJson } from './printable.ts';
import type { Person } from './runs/person.ts';
import { shellWord } from './shell-word.ts';
import { defaultStore, refuseMissingStore, withoutSecrets } from './store-address.ts';
import { linesText, type Terminal } from './terminal.ts';
import { wrongCall } from './wrong-call.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** All that a call touches outside itself. */
export interface World {
  readonly argv: readonly string[];
  readonly env: Env;
  /** The current one. */
  readonly folder: string;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  readonly out: Terminal;
  readonly err: Terminal;
  readonly now: () => number;
  readonly interrupted: () => AbortSignal;
  readonly onInterrupt: Context['onInterrupt'];
  readonly person: (anyInput: boolean) => Person | undefined;
  readonly hiddenLine?: Context['hiddenLine'];
  /** Another `perdure` with these arguments, which outlives this one. */
  readonly startDetached: (args: readonly string[], options: { readonly folder: string; readonly env: Env }) => void;
  readonly openRuntime: (options: RuntimeOptions) => Promise<Runtime>;
}

const givenStore = (option: string | undefined, env: Env): string | undefined =>
  option ?? (env.PERDURE_STORE || undefined);
export const storeOf = (option: string | undefined, env: Env): string => givenStore(option, env) ?? defaultStore;

const parseWorkspace = (name: string): WorkspaceId => {
  const parsed = WorkspaceId.safeParse(name);
  if (parsed.success) return parsed.data;
  throw wrongCall(`"${name}" is not the name of a workspace: ${parsed.error.issues[0]?.message}`);
};

const parseSessionId = (named: string): SessionId => {
  const parsed = SessionId.safeParse(named);
  if (parsed.success) return parsed.data;
  const why = parsed.error.issues[0]?.message;
  throw wrongCall(`"${named}" is not a session: ${why}; \`perdure ls\` lists those there are`);
};

type RunCall = Extract<ParsedCall, { kind: 'run' }>;

/** The configuration is looked for once, and only when something needs it. */
const configLoader = ({ folder }: World, { options }: RunCall): (() => Promise<Config>) => {
  const load = async (): Promise<Config> => {
    const file = findConfig(folder, options.config);
    return file === undefined ? (await import('./config/demo-agent.ts')).demoConfig : loadConfig(file, folder);
  };
  let loading: Promise<Config> | undefined;
  return () => {
    loading ??= load();
    return loading;
  };
};

/** Names are checked before the store is opened: a wrong call makes no file. */
export const contextFor = (
  world: World,
  call: RunCall,
  onStore: (address: string) => void,
): { readonly context: Context; readonly close: () => Promise<void> } => {
  const { out, err, stdin, now, interrupted, onInterrupt, env, folder } = world;
  const { command, options } = call;
  const json = options.json ?? false;
  const workspace = parseWorkspace(options.workspace ?? (env.PERDURE_WORKSPACE || 'local'));
  const config = configLoader(world, call);
  let address = storeOf(options.store, env);
  const onWarning = (problem: unknown): void => {
    const message = problem instanceof Error ? problem.message : String(problem);
    err.write(`warning: ${printable(withoutSecrets(message, address))}\n`).catch(() => {});
  };
  const open = async (watching: Watching): Promise<Runtime> => {
    const { agents, models, store: configured, data } = await config();
    const store = givenStore(options.store, env) ?? configured ?? defaultStore;
    if (typeof store === 'string') {
      address = store;
      onStore(store);
      if (!command.makesStore) refuseMissingStore(store);
    }
    return world.openRuntime({
      store,
      agents,
      onWarning,
      ...watching,
      ...(data !== undefined && { data }),
      ...(models && { models }),
    });
  };
  let opening: Promise<Runtime> | undefined;
  const wholeRuntime: Context['wholeRuntime'] = (watching = {}) => {
    opening ??= open(watching);
    return opening;
  };
  /** With the profile that `setup` has kept. */
  const act = async (): Promise<ScopedRuntime> => {
    const local = { workspace, member: 'local', role: 'admin' } as const;
    const { profile } = await (await wholeRuntime()).as(local).members.me();
    return (await wholeRuntime()).as({ ...local, profile });
  };
  let acting: Promise<ScopedRuntime> | undefined;
  const runtime = (): Promise<ScopedRuntime> => {
    acting ??= act();
    return acting;
  };
  const sessions: Context['sessions'] = async () => (await runtime()).sessions;
  const given = Object.entries({ store: options.store, workspace: options.workspace, config: options.config });
  const context: Context = {
    out,
    err,
    stdin,
    json,
    now,
    interrupted,
    onInterrupt,
    config,
    wholeRuntime,
    storeName: () => withoutSecrets(address, address),
    runtime,
    sessions,
    workspaces: async () => (await wholeRuntime()).workspaces,
    session: async (named) => {
      const id = parseSessionId(named);
      return (await sessions()).get(id);
    },
    person: ({ anyInput } = { anyInput: false }) => (json && !anyInput ? undefined : world.person(anyInput)),
    hiddenLine: world.hiddenLine,
    startWorker: ({ id }: Session) => {
      const named = options.config === undefined ? [] : ['--config', options.config];
      // By the environment, which other users cannot read: an address may hold a password.
      const store = givenStore(options.store, env);
      world.startDetached(['worker', '--session', id, '--once', ...named], {
        folder,
        env: { ...env, PERDURE_WORKSPACE: workspace, ...(store !== undefined && { PERDURE_STORE: store }) },
      });
    },
    commandText: (...words) => {
      const same = given.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
      return withoutSecrets(['perdure', ...words, ...same].map(shellWord).join(' '), address);
    },
    answer: (value, tell) => {
      if (json) return out.write(`${printableJson(value)}\n`);
      const lines = tell();
      return out.write(linesText(typeof lines === 'string' ? wrap(lines, out.columns) : lines));
    },
    note: async (text) => {
      if (!json) await err.write(linesText(wrap(text, err.columns).map((line) => err.style('dim', line))));
    },
  };
  return { context, close: async () => (await opening?.catch(() => undefined))?.close() };
};
