/// <reference lib="esnext.disposable" preserve="true" />
import { dirname, resolve } from 'node:path';
import type { Authenticated } from './core/access/authenticate.ts';
import type { Identity } from './core/access/identity.ts';
import type { Workspaces } from './core/access/workspaces.ts';
import type { Timing } from './core/engine/scope.ts';
import type { SnapshotPolicy } from './core/engine/session-folds.ts';
import { type Clock, checkedClock } from './core/ports/clock.ts';
import { systemRandom } from './core/ports/random.ts';
import type { RuntimeStore } from './core/ports/runtime-store.ts';
import type { Spans } from './core/ports/spans.ts';
import { systemTimekeeper } from './core/ports/timekeeper.ts';
import type { WorkerOptions } from './core/runs/worker-options.ts';
import type { ScopedRuntime } from './core/runtime/scoped-runtime.ts';
import { type Agent, agentRegistry } from './core/session/agent.ts';
import { masterKeySource } from './core/vault/master-key.ts';
import type { PostRules } from './core/webhooks/post.ts';
import type { Worker } from './core/worker/worker.ts';
import { checkModels, modelsFields } from './models/check-models.ts';
import type { ModelsConfig } from './models/models-config.ts';
import { PerdureError } from './schema/error.ts';
import type { SessionEvent } from './schema/event.ts';
import { fieldProblem } from './schema/field-problem.ts';
import { parseStore, type StoreAddress, sqliteFileIn } from './stores/parse-store.ts';

export interface RuntimeOptions {
  /**
   * `sqlite:PATH`, `postgres://…`, or a store of your own. An address of PostgreSQL is opened with PERDURE_POOL_SIZE connections. If it leads
   * to a pooler, PERDURE_LISTEN_URL names the server itself, to listen at.
   */
  readonly store: string | RuntimeStore;
  /** The agents whose sessions this runtime can work on. */
  readonly agents?: readonly Agent[];
  /** Providers and models beyond what the environment says. */
  readonly models?: ModelsConfig;
  /** Where this machine keeps worktrees; by default PERDURE_DATA, or beside the SQLite file, or `.perdure` in the current folder. */
  readonly data?: string;
  /** The master key that vaults are sealed with, as base64 of 32 bytes; by default PERDURE_MASTER_KEY, or what is in the file PERDURE_MASTER_KEY_FILE or `master.key` of the data folder. */
  readonly masterKey?: string;
  /** How long to wait between tries. */
  readonly timing?: Partial<Timing>;
  /** Where times come from, so that tests can bring their own. */
  readonly clock?: Clock;
  /** How often folds are kept, so that opening reads a bounded tail. */
  readonly snapshots?: SnapshotPolicy;
  /** Where webhooks may go. By default to public addresses over https; to others too where PERDURE_WEBHOOKS_ALLOW_PRIVATE is 1. */
  readonly webhooks?: Partial<PostRules>;
  /** Makes spans around runs, model calls and tool calls, such as `openTelemetrySpans()` of `perdure/observe`; none by default. */
  readonly spans?: Spans;
  /** Called with the events that this runtime wrote. It must be quick; what it throws becomes a warning. */
  readonly onAppended?: (events: readonly SessionEvent[]) => void;
  /** Called with what went wrong outside of any call of yours, such as a fold snapshot that could not be kept. By default a process warning. */
  readonly onWarning?: (problem: unknown) => void;
}

export interface Runtime extends ScopedRuntime, AsyncDisposable {
  /** Acts as a member of a workspace. Without it: the member `local` of the workspace `local`, an admin. */
  as(identity: Identity): ScopedRuntime;
  /** Whom a key stands for; undefined when it is none, was revoked, has expired, or its member is gone. */
  authenticate(token: string): Promise<Authenticated | undefined>;
  /** Makes a worker, which works on the runs of all workspaces once it is started. With `session`, on one session of the workspace `local`. */
  worker(options?: WorkerOptions): Worker;
  /** Makes the file with the master key, where there is none yet. */
  makeMasterKey(): Promise<{ readonly file: string }>;
  /**
   * Seals the vaults of all workspaces with another master key: the one that is given (base64 of 32 bytes), or a new one in the key file.
   * Until it returns, both keys are needed. If it was interrupted, call it again.
   */
  rotateMasterKey(newKey?: string): Promise<{ readonly workspaces: number }>;
  /** Where this machine keeps worktrees. */
  readonly data: string;
  /** All of the store. */
  readonly workspaces: Workspaces;
  /** Whether the store answers. */
  isReady(): Promise<boolean>;
  /** Stops workers, waits for what is under way and ends followers; idempotent. `await using` does it at the end of a block. */
  close(): Promise<void>;
}

const poolSizeIn = async (text: string | undefined): Promise<number | undefined> => {
  if (!text) return undefined;
  const { checkPoolSize } = await import('./stores/postgres/server/pool-size.ts');
  return checkPoolSize('PERDURE_POOL_SIZE', Number(text), text);
};

/** Engines are loaded when they are first used: a program on SQLite never pays for PostgreSQL's. */
const openStore = async (address: StoreAddress, onWarning: (problem: unknown) => void): Promise<RuntimeStore> => {
  if ('file' in address) {
    const { openSqliteStore } = await import('./stores/sqlite/index.ts');
    return openSqliteStore(address);
  }
  const { openPostgresStore } = await import('./stores/postgres/index.ts');
  const { PERDURE_LISTEN_URL, PERDURE_POOL_SIZE } = process.env;
  return openPostgresStore({
    ...address,
    listenUrl: PERDURE_LISTEN_URL || undefined,
    poolSize: await poolSizeIn(PERDURE_POOL_SIZE),
    onWarning,
  });
};

const storeOf = async (given: unknown, onWarning: (problem: unknown) => void): Promise<RuntimeStore> => {
  const store = parseStore(given);
  return 'append' in store ? store : openStore(store, onWarning);
};

/** Whether the address is that of a SQLite database with nothing in it. Makes none, and nothing in it. */
export const isBlankStore = async (address: string): Promise<boolean> => {
  const file = sqliteFileIn(address);
  return file !== undefined && (await import('./stores/sqlite/file/is-blank.ts')).isBlank(file);
};

/** Copies all of a store on SQLite into a new file, while others work on it; gives its size in bytes. */
export const backUpStore = async (store: RuntimeOptions['store'], target: string): Promise<number> => {
  const given = parseStore(store);
  if ('file' in given) return (await import('./stores/sqlite/thread/back-up.ts')).backUpSqlite(given.file, target);
  const remedy =
    'url' in given ? '`pg_dump` backs up PostgreSQL: see docs/guides/back-up.md' : 'back this one up by its own means';
  throw new PerdureError('INVALID_INPUT', `backup copies a store on SQLite; ${remedy}`);
};

const places = ({ data = process.env.PERDURE_DATA, store }: RuntimeOptions) => {
  const file = typeof store === 'string' ? sqliteFileIn(store) : undefined;
  return { data: resolve(data || (file ? dirname(file) : '.perdure')), storeFile: file && resolve(file) };
};

const fields: Record<keyof RuntimeOptions, true> = {
  store: true,
  agents: true,
  models: true,
  data: true,
  masterKey: true,
  timing: true,
  clock: true,
  snapshots: true,
  webhooks: true,
  spans: true,
  onAppended: true,
  onWarning: true,
};

const warn = (problem: unknown): void => {
  process.emitWarning(problem instanceof Error ? problem : new Error(String(problem)));
};

/** The schemas are waited for only where there is something that they check. */
const checkSettings = async ({ snapshots, timing }: RuntimeOptions): Promise<void> => {
  if (snapshots === undefined && timing === undefined) return;
  (await import('./core/runtime/scopes.ts')).settingsOf({ snapshots, timing });
};

const neededNode = 24;

/** An older one can load this file, and would call those that come next a syntax error. */
const refuseOldNode = (): void => {
  if (Number.parseInt(process.version.slice(1), 10) >= neededNode) return;
  const remedy = `get it from https://nodejs.org or with "npm install --save-dev node@${neededNode}"`;
  throw new PerdureError(
    'INVALID_INPUT',
    `perdure needs Node ${neededNode} or newer, this is ${process.version}: ${remedy}`,
  );
};

/** Before anything is opened: a runtime that is refused makes no store. Gives the agents by name and version. */
const checkOptions = async (options: RuntimeOptions): Promise<ReadonlyMap<string, Agent>> => {
  refuseOldNode();
  const unknown = fieldProblem(options, fields, { models: modelsFields });
  if (unknown) throw new PerdureError('INVALID_INPUT', `openRuntime: ${unknown}`);
  const { models = {}, agents = [], data } = options;
  checkModels(models);
  if (data !== undefined && typeof data !== 'string') throw new PerdureError('INVALID_INPUT', 'data: expected a text');
  const registry = agentRegistry(agents);
  await checkSettings(options);
  return registry;
};

/** One that the program has opened is closed with the runtime, also when that is refused. */
const closeGiven = async (store: Partial<RuntimeStore> | string | null | undefined): Promise<void> => {
  if (typeof store !== 'string') await store?.close?.();
};

/**
 * The use cases and their schemas take longer to load than to open a database, so both happen at once, and only when they are needed.
 * Nothing of ours is loaded later: by then the package may have been replaced by another release.
 */
export const openRuntime = async (options: RuntimeOptions): Promise<Runtime> => {
  const given = options ?? {};
  const agents = await checkOptions(given).catch(async (refused) => {
    await closeGiven(given.store);
    throw refused;
  });
  const { models = {}, snapshots, onWarning = warn, timing } = given;
  const clock = systemTimekeeper(given.clock && checkedClock(given.clock));
  const [store, { identitiesOn }, { resolveModels }, { knownSecrets }] = await Promise.all([
    storeOf(given.store, onWarning),
    import('./core/runtime/identities.ts'),
    import('./models/resolve-model.ts'),
    import('./models/providers.ts'),
  ]);
  const closing = new AbortController();
  const place = places(options);
  const identities = identitiesOn({
    store,
    clock,
    random: systemRandom,
    snapshots,
    agents,
    onWarning,
    ...place,
    masterKey: masterKeySource(place.data, options.masterKey, process.env),
    secrets: async () => knownSecrets(models),
    timing,
    postRules: { allowPrivate: process.env.PERDURE_WEBHOOKS_ALLOW_PRIVATE === '1', ...options.webhooks },
    spans: options.spans,
    onAppended: options.onAppended,
    closing: closing.signal,
    models: async (model) => resolveModels(models)(model),
  });
  const local = identities.as({ workspace: 'local', member: 'local', role: 'admin' });
  const close = async (): Promise<void> => {
    closing.abort();
    await identities.settle();
    await store.close();
  };
  return {
    ...local,
    as: identities.as,
    data: place.data,
    worker: (wanted) => (wanted?.session === undefined ? identities : local).worker(wanted),
    authenticate: identities.authenticate,
    makeMasterKey: identities.makeMasterKey,
    rotateMasterKey: identities.rotateMasterKey,
    workspaces: identities.workspaces,
    isReady: async () => {
      try {
        await identities.workspaces.list();
        return true;
      } catch {
        return false;
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
};
