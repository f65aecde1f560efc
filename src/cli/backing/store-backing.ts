import type { ScopedRuntime } from '../../core/runtime/scoped-runtime.ts';
import type { Runtime } from '../../runtime.ts';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import { WorkspaceId } from '../../schema/ids.ts';
import type { Config } from '../config/config.ts';
import { configName, findConfig, loadConfig } from '../config/load-config.ts';
import type { RunCall } from '../dispatch/parse-call.ts';
import type { Context, Watching } from '../parse/command.ts';
import { backingOptionsOf } from '../parse/common-options.ts';
import { suggestion } from '../parse/one-of.ts';
import {
  defaultStore,
  givenStore,
  refuseMissingStore,
  sqliteFileOf,
  storeOf,
  withoutSecrets,
} from '../parse/store-address.ts';
import type { World } from '../parse/world.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { printable } from '../terminal/printable.ts';
import { withNotice } from '../terminal/progress.ts';
import type { Backing, StoreWatch } from './backing.ts';

const parseWorkspace = (name = 'local'): WorkspaceId => {
  const parsed = WorkspaceId.safeParse(name);
  if (parsed.success) return parsed.data;
  throw wrongCall(`"${name}" is not the name of a workspace: ${parsed.error.issues[0]?.message}`);
};

const checkWorkspace = async ({ workspaces }: Runtime, workspace: WorkspaceId): Promise<void> => {
  try {
    await workspaces.get(workspace);
  } catch (cause) {
    if (!isPerdureError(cause, 'WORKSPACE_NOT_FOUND')) throw cause;
    const known = (await workspaces.list()).map(({ id }) => id);
    throw new PerdureError(
      cause.code,
      `there is no workspace ${workspace}${suggestion(workspace, known) || ':'} \`perdure workspaces add ${workspace}\` adds it`,
      { details: cause.details, cause },
    );
  }
};

const makesStore = ({ command: { makesStore: makes }, ...call }: RunCall): boolean =>
  typeof makes === 'function' ? makes(call) : makes === true;

/** Returns a function that finds and loads the configuration on its first call. */
const configLoader = (
  { env, err, folder }: World,
  { options }: RunCall,
  { onLoading }: StoreWatch,
): (() => Promise<Config>) => {
  const loadFile = async (file: string): Promise<Config> => {
    const name = configName(file, folder);
    onLoading(name);
    const work = () => loadConfig(file, folder);
    try {
      return await (options.json ? work() : withNotice(err, `loading ${name}`, work));
    } finally {
      onLoading(undefined);
    }
  };
  const load = async (): Promise<Config> => {
    const file = findConfig(folder, options.config);
    return file === undefined ? (await import('../config/demo-agent.ts')).demoConfig(env) : loadFile(file);
  };
  let loading: Promise<Config> | undefined;
  return () => {
    loading ??= load();
    return loading;
  };
};

/** Works on a store. Names are checked before the store is opened, so that a wrong call does not create a file. */
export const storeBacking = (world: World, call: RunCall, watch: StoreWatch): Backing => {
  const { err, env, folder } = world;
  const { command, options } = call;
  const isOfWorkspace = backingOptionsOf(command).includes('workspace');
  const workspace = parseWorkspace(options.workspace ?? ((isOfWorkspace && env.PERDURE_WORKSPACE) || undefined));
  const config = configLoader(world, call, watch);
  let address = storeOf(options.store, env);
  const printWarning = (message: string): void => void err.write(`warning: ${printable(message)}\n`).catch(() => {});
  const findStore = async () => {
    const hasNone = command.needsNoAgents && findConfig(folder, options.config) === undefined;
    const { store: configured, ...found }: Config = hasNone ? { agents: [] } : await config();
    const store = givenStore(options.store, env) ?? configured ?? defaultStore;
    if (typeof store === 'string') {
      address = store;
      watch.onStore(store);
      if (!makesStore(call)) await refuseMissingStore(store);
    }
    return { ...found, store };
  };
  const open = async ({ warn = printWarning, notes, ...watching }: Watching): Promise<Runtime> => {
    const { store, agents, models, data, file } = await findStore();
    return world.openRuntime({
      store,
      agents,
      worker: false,
      onWarning: (problem) => {
        // The built-in agent depends on the environment, and a user cannot raise its version.
        if (file === undefined && isPerdureError(problem, 'AGENT_CHANGED')) return;
        warn(withoutSecrets(problem instanceof Error ? problem.message : String(problem), address));
      },
      ...watching,
      // PostgreSQL carries notes by itself, also to processes elsewhere.
      ...(notes && typeof store === 'string' && sqliteFileOf(store) !== undefined && { notes }),
      ...(data !== undefined && { data }),
      ...(models && { models }),
    });
  };
  let opening: Promise<Runtime> | undefined;
  const wholeRuntime: Context['wholeRuntime'] = (watching = {}) => {
    opening ??= open(watching);
    return opening;
  };
  /** Returns the runtime scoped to the local admin, with the profile that `setup` has saved. */
  const act = async (): Promise<ScopedRuntime> => {
    const whole = await wholeRuntime();
    await checkWorkspace(whole, workspace);
    const local = { workspace, member: 'local', role: 'admin' } as const;
    const { profile } = await whole.as(local).members.me();
    return whole.as({ ...local, profile });
  };
  let acting: Promise<ScopedRuntime> | undefined;
  const runtime = (): Promise<ScopedRuntime> => {
    acting ??= act();
    return acting;
  };
  const namedConfig = options.config === undefined ? [] : ['--config', options.config];
  /** The store goes through the environment: other users can read arguments, and an address may contain a password. */
  const envOfWorker = () => {
    const store = givenStore(options.store, env);
    const { PERDURE_SERVER: _, PERDURE_WORKSPACE: __, ...own } = env;
    return { ...own, ...(store !== undefined && { PERDURE_STORE: store }) };
  };
  return {
    config,
    wholeRuntime,
    runtime,
    storeName: () => withoutSecrets(address, address),
    backUp: async (file) => (await import('../../runtime.ts')).backUpStore((await findStore()).store, file),
    inspectStore: async () => {
      try {
        const { store, data } = await findStore();
        return await (await import('../../runtime.ts')).inspectStore({ store, ...(data !== undefined && { data }) });
      } catch (error) {
        throw new Error(withoutSecrets(error instanceof Error ? error.message : String(error), address));
      }
    },
    workspaces: async () => (await wholeRuntime()).workspaces,
    worker: async (wanted) => {
      const isNamed = options.workspace !== undefined || Boolean(env.PERDURE_WORKSPACE) || wanted.session !== undefined;
      return (isNamed ? await runtime() : await wholeRuntime()).worker(wanted);
    },
    startWorker: ({ id }) => {
      world.startDetached(['worker', '--session', id, '--once', ...namedConfig], {
        folder,
        env: { ...envOfWorker(), PERDURE_WORKSPACE: workspace },
      });
    },
    workerProcesses: async () => {
      const { startWorkerProcess: start } = world;
      const { store } = await findStore();
      if (!start || typeof store !== 'string') return undefined;
      return (args) => start(['worker', ...args, ...namedConfig], { folder, env: envOfWorker() });
    },
    given: { store: options.store, workspace: options.workspace, config: options.config },
    shown: (text) => withoutSecrets(text, address),
    close: async () => (await opening?.catch(() => undefined))?.close(),
  };
};
