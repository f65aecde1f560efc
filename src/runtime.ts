/// <reference lib="esnext.disposable" preserve="true" />
import { dirname, resolve } from 'node:path';
import type { Authenticated } from './core/access/authenticate.ts';
import type { Identity } from './core/access/identity.ts';
import type { Workspaces } from './core/access/workspaces.ts';
import type { Timing } from './core/engine/scope.ts';
import type { SnapshotPolicy } from './core/engine/session-folds.ts';
import type { OutboundPolicy } from './core/host/outbound-policy.ts';
import { type Clock, checkedClock } from './core/ports/clock.ts';
import type { Notes } from './core/ports/notes.ts';
import { systemRandom } from './core/ports/random.ts';
import type { RuntimeStore } from './core/ports/runtime-store.ts';
import type { Spans } from './core/ports/spans.ts';
import { systemTimekeeper } from './core/ports/timekeeper.ts';
import type { WorkerOptions } from './core/runs/worker-options.ts';
import type { UsageQuery } from './core/runs/workspace-usage.ts';
import type { RuntimeProblem } from './core/runtime/identities.ts';
import type { ScopedRuntime } from './core/runtime/scoped-runtime.ts';
import { type Agent, agentRegistry } from './core/session/agent.ts';
import { masterKeySource } from './core/vault/master-key.ts';
import type { VaultCheck } from './core/vault/vaults.ts';
import type { WebhookSettings } from './core/webhooks/post.ts';
import type { Worker } from './core/worker/worker.ts';
import { checkModels, modelsFields } from './models/check-models.ts';
import type { ModelsConfig } from './models/models-config.ts';
import { PerdureError } from './schema/error.ts';
import type { SessionEvent } from './schema/event.ts';
import { fieldProblem } from './schema/field-problem.ts';
import type { UsageReport } from './schema/views/usage.ts';
import { parseStore, type StoreAddress, sqliteFileIn } from './stores/parse-store.ts';
import type { PostgresInspection } from './stores/postgres/inspect-postgres.ts';
import type { SqliteInspection } from './stores/sqlite/file/inspect.ts';

export interface RuntimeOptions {
  /**
   * The store: `sqlite:PATH`, `postgres://…`, or your own implementation. PERDURE_POOL_SIZE sets the number of
   * PostgreSQL connections. If the address is a pooler's, PERDURE_LISTEN_URL must name the server itself, because
   * LISTEN needs a direct connection.
   */
  readonly store: string | RuntimeStore;
  /** The agents whose sessions this runtime can execute. */
  readonly agents?: readonly Agent[];
  /**
   * Whether the runtime executes runs by itself. If so, it starts a worker for all workspaces at the first input,
   * answer or wait for a run. True by default if the runtime has agents. False leaves the runs to `runtime.worker()`
   * or to other processes.
   */
  readonly worker?: boolean;
  /** Providers and models in addition to those in the environment. */
  readonly models?: ModelsConfig;
  /**
   * The folder for worktrees on this machine. Default: PERDURE_DATA, else the SQLite file's folder, else `.perdure` in
   * the current folder.
   */
  readonly data?: string;
  /**
   * The master key that seals vaults, as base64 of 32 bytes. Default: PERDURE_MASTER_KEY, else the content of the file
   * PERDURE_MASTER_KEY_FILE, else of `master.key` in the data folder.
   */
  readonly masterKey?: string;
  /** Delays, such as the one before a failed model request is retried. */
  readonly timing?: Partial<Timing>;
  /** The source of the current time, so that tests can inject their own. */
  readonly clock?: Clock;
  /** How often folds are stored. Opening a session then reads only the events after the last stored fold. */
  readonly snapshots?: SnapshotPolicy;
  /**
   * Which addresses a workspace may give, for webhooks and for clones by callers with a key. Default: public addresses
   * over https. PERDURE_OUTBOUND_ALLOW_PRIVATE=1 allows other addresses too.
   */
  readonly outbound?: Partial<OutboundPolicy>;
  /** How webhooks are sent. */
  readonly webhooks?: Partial<WebhookSettings>;
  /**
   * Creates spans around runs, model calls and tool calls, such as `openTelemetrySpans()` of `perdure/observe`.
   * Default: none.
   */
  readonly spans?: Spans;
  /**
   * Carries previews of answers between processes in place of the store, which on SQLite carries none. Default: the
   * store.
   */
  readonly notes?: Notes;
  /**
   * Called with the events that this runtime has written. The callback must return quickly. An error that it throws
   * becomes a warning.
   */
  readonly onAppended?: (events: readonly SessionEvent[]) => void;
  /**
   * Called with problems that fail none of your calls, such as a fold snapshot that could not be stored. Default: a
   * process warning.
   */
  readonly onWarning?: (problem: unknown) => void;
}

export interface Runtime extends ScopedRuntime, AsyncDisposable {
  /**
   * Returns the runtime as one member of a workspace uses it. Without `as`, the runtime acts as the admin `local` of
   * the workspace `local`.
   */
  as(identity: Identity): ScopedRuntime;
  /**
   * Returns the member that an API key belongs to. Returns undefined if the key is unknown, revoked or expired, or if
   * its member was removed.
   */
  authenticate(token: string): Promise<Authenticated | undefined>;
  /**
   * Creates a worker. Once started, it executes the runs of all workspaces, in place of the runtime's own worker. With
   * `session`, it serves one session of the workspace `local`.
   */
  worker(options?: WorkerOptions): Worker;
  /**
   * The usage of the workspace `local`. By workspace, it is the usage of all workspaces, which no scoped runtime can
   * read.
   */
  usage(query?: UsageQuery): Promise<UsageReport>;
  /** Creates the file with the master key. Fails with CONFLICT if a key exists already. */
  makeMasterKey(): Promise<{ readonly file: string }>;
  /**
   * Seals the vaults of all workspaces with another master key: the given one (base64 of 32 bytes), or a new one in
   * the key file. Both keys are needed until the call returns. If the call was interrupted, repeat it.
   */
  rotateMasterKey(newKey?: string): Promise<{ readonly workspaces: number }>;
  /** Whether the master key opens each vault that has secrets, with the problem of each that it does not open. */
  checkVaults(): Promise<readonly VaultCheck[]>;
  /** The folder for worktrees on this machine. */
  readonly data: string;
  /** All workspaces of the store. */
  readonly workspaces: Workspaces;
  /** What keeps the runtime from its work: a store that does not answer, or a vault that cannot be opened. */
  problems(): Promise<readonly RuntimeProblem[]>;
  /**
   * Drains the runtime's own worker, stops other workers, waits for calls in progress, and ends followers. It is
   * idempotent. `await using` calls it at the end of a block.
   */
  close(): Promise<void>;
}

const poolSizeIn = async (text: string | undefined): Promise<number | undefined> => {
  if (!text) return undefined;
  const { checkPoolSize } = await import('./stores/postgres/server/pool-size.ts');
  return checkPoolSize('PERDURE_POOL_SIZE', Number(text), text);
};

/**
 * Opens the store. Loads each database driver on first use, so that a program on SQLite never loads the PostgreSQL
 * driver.
 */
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

/** Whether the address names a SQLite database that is empty. The check creates neither the file nor tables. */
export const isBlankStore = async (address: string): Promise<boolean> => {
  const file = sqliteFileIn(address);
  return file !== undefined && (await import('./stores/sqlite/file/is-blank.ts')).isBlank(file);
};

/**
 * Copies a whole SQLite store into a new file, also while the store is in use. Returns the size of the copy in bytes.
 */
export const backUpStore = async (store: RuntimeOptions['store'], target: string): Promise<number> => {
  const given = parseStore(store);
  if ('file' in given) return (await import('./stores/sqlite/thread/back-up.ts')).backUpSqlite(given.file, target);
  const remedy =
    'url' in given ? '`pg_dump` backs up PostgreSQL: see docs/guides/back-up.md' : 'back this one up by its own means';
  throw new PerdureError('INVALID_INPUT', `backup copies a store on SQLite; ${remedy}`);
};

/** What a look at a store finds. Looking changes nothing, and opens no store of the program's own. */
export type StoreInspection = SqliteInspection | PostgresInspection | { readonly kind: 'other' };

/** Looks at a store without opening or migrating it, and says which folder holds the worktrees beside it. */
export const inspectStore = async (
  options: Pick<RuntimeOptions, 'store' | 'data'>,
): Promise<{ readonly store: StoreInspection; readonly data: string }> => {
  const { data } = places(options);
  const given = parseStore(options.store);
  if ('file' in given)
    return { data, store: (await import('./stores/sqlite/file/inspect.ts')).inspectSqlite(given.file) };
  if (!('url' in given)) return { data, store: { kind: 'other' } };
  const { inspectPostgres } = await import('./stores/postgres/inspect-postgres.ts');
  return { data, store: await inspectPostgres(given.url, await poolSizeIn(process.env.PERDURE_POOL_SIZE)) };
};

const places = ({ data = process.env.PERDURE_DATA, store }: Pick<RuntimeOptions, 'data' | 'store'>) => {
  const file = typeof store === 'string' ? sqliteFileIn(store) : undefined;
  return { data: resolve(data || (file ? dirname(file) : '.perdure')), storeFile: file && resolve(file) };
};

const fields: Record<keyof RuntimeOptions, true> = {
  store: true,
  agents: true,
  worker: true,
  models: true,
  data: true,
  masterKey: true,
  timing: true,
  clock: true,
  snapshots: true,
  outbound: true,
  webhooks: true,
  spans: true,
  notes: true,
  onAppended: true,
  onWarning: true,
};

const warn = (problem: unknown): void => {
  process.emitWarning(problem instanceof Error ? problem : new Error(String(problem)));
};

/** Checks the settings. Loads the schemas only if there is a setting to check. */
const checkSettings = async ({ snapshots, timing }: RuntimeOptions): Promise<void> => {
  if (snapshots === undefined && timing === undefined) return;
  (await import('./core/runtime/scopes.ts')).settingsOf({ snapshots, timing });
};

const neededNode = 24;

/**
 * Rejects an old Node version. Such a version can load this file, but would report syntax errors in the modules loaded
 * next.
 */
const refuseOldNode = (): void => {
  if (Number.parseInt(process.version.slice(1), 10) >= neededNode) return;
  const remedy = `get it from https://nodejs.org or with "npm install --save-dev node@${neededNode}"`;
  throw new PerdureError(
    'INVALID_INPUT',
    `perdure needs Node ${neededNode} or newer, this is ${process.version}: ${remedy}`,
  );
};

const runsOpen = ({ tools, prepare }: Agent): boolean =>
  [...tools.values(), ...(prepare ? [prepare.shell] : [])].some(({ confinement }) => confinement === 'off');

/** The agents whose commands run without a sandbox, because the deployment switched it off. */
const openAgents = (agents: readonly Agent[]): string =>
  agents
    .filter(runsOpen)
    .map(({ name }) => name)
    .join(', ');

/** Rejects a worker of root whose commands would run without a sandbox, because they could change the whole host. */
const refuseOpenRoot = (agents: readonly Agent[]): void => {
  const names = openAgents(agents);
  if (names === '' || process.getuid?.() !== 0 || process.env.PERDURE_ALLOW_ROOT === '1') return;
  throw new PerdureError(
    'ROOT_REFUSED',
    `the sandbox is off for ${names}, and commands would run as root: run the worker as another user, remove \`sandbox: 'off'\`, or set PERDURE_ALLOW_ROOT=1`,
  );
};

const warnOfOpenAgents = (agents: readonly Agent[], onWarning: (problem: unknown) => void): void => {
  const names = openAgents(agents);
  if (names === '') return;
  onWarning(new Error(`the sandbox is off for ${names}: commands can do whatever the worker's user can`));
};

/**
 * Validates the options before anything is opened, so that rejected options create no store. Returns the agents by
 * name and version.
 */
const checkOptions = async (options: RuntimeOptions): Promise<ReadonlyMap<string, Agent>> => {
  refuseOldNode();
  const unknown = fieldProblem(options, fields, { models: modelsFields });
  if (unknown) throw new PerdureError('INVALID_INPUT', `openRuntime: ${unknown}`);
  const { models = {}, agents = [], data, worker } = options;
  checkModels(models);
  if (worker !== undefined && typeof worker !== 'boolean') {
    throw new PerdureError('INVALID_INPUT', 'worker: expected true or false');
  }
  if (data !== undefined && typeof data !== 'string') throw new PerdureError('INVALID_INPUT', 'data: expected text');
  const registry = agentRegistry(agents);
  if (worker !== false) refuseOpenRoot(agents);
  await checkSettings(options);
  return registry;
};

/**
 * Closes a store that the program opened and passed in. The runtime owns it, even if the other options are rejected.
 */
const closeGiven = async (store: Partial<RuntimeStore> | string | null | undefined): Promise<void> => {
  if (typeof store !== 'string') await store?.close?.();
};

/**
 * Opens a runtime. Loading the use cases and their schemas takes longer than opening a database, so both happen at the
 * same time, and only when needed. All modules of this package are loaded here, because an upgrade may replace their
 * files later.
 */
export const openRuntime = async (options: RuntimeOptions): Promise<Runtime> => {
  const given = options ?? {};
  const agents = await checkOptions(given).catch(async (refused) => {
    await closeGiven(given.store);
    throw refused;
  });
  const { models = {}, snapshots, onWarning = warn, timing } = given;
  const clock = systemTimekeeper(given.clock && checkedClock(given.clock));
  const [store, { identitiesOn }, { resolveModels }, { knownSecrets }, { recallTool }] = await Promise.all([
    storeOf(given.store, onWarning),
    import('./core/runtime/identities.ts'),
    import('./models/resolve-model.ts'),
    import('./models/providers.ts'),
    import('./tools/session/recall-tool.ts'),
  ]);
  let isWarned = false;
  const warnOnce = (): void => {
    if (!isWarned) warnOfOpenAgents(given.agents ?? [], onWarning);
    isWarned = true;
  };
  if (given.worker !== false) warnOnce();
  const closing = new AbortController();
  const place = places(options);
  const identities = identitiesOn({
    store,
    clock,
    random: systemRandom,
    snapshots,
    agents,
    recallTool,
    isWorking: given.worker ?? true,
    onWarning,
    ...place,
    masterKey: masterKeySource(place.data, options.masterKey, process.env),
    secrets: async () => knownSecrets(models),
    timing,
    outbound: { allowPrivate: process.env.PERDURE_OUTBOUND_ALLOW_PRIVATE === '1', ...options.outbound },
    webhooks: options.webhooks,
    spans: options.spans,
    notes: options.notes,
    onAppended: options.onAppended,
    closing: closing.signal,
    models: Object.assign(async (model: unknown) => resolveModels(models)(model), {
      problem: (model: unknown) => resolveModels(models).problem(model),
    }),
  });
  const local = identities.as({ workspace: 'local', member: 'local', role: 'admin' });
  const end = async (): Promise<void> => {
    await identities.drain();
    closing.abort();
    await identities.settle();
    await store.close();
  };
  let ended: Promise<void> | undefined;
  const close = (): Promise<void> => {
    ended ??= end();
    return ended;
  };
  return {
    ...local,
    as: identities.as,
    data: place.data,
    worker: (wanted) => {
      refuseOpenRoot(given.agents ?? []);
      warnOnce();
      return (wanted?.session === undefined ? identities : local).worker(wanted);
    },
    usage: (query) => (query?.by === 'workspace' ? identities.usageOfWorkspaces(query) : local.usage(query)),
    authenticate: identities.authenticate,
    makeMasterKey: identities.makeMasterKey,
    rotateMasterKey: identities.rotateMasterKey,
    checkVaults: identities.checkVaults,
    workspaces: identities.workspaces,
    problems: identities.problems,
    close,
    [Symbol.asyncDispose]: close,
  };
};
