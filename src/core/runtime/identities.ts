import { isPerdureError } from '../../schema/error.ts';
import { registryWorkspace, WorkspaceId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { UsageReport } from '../../schema/views/usage.ts';
import { auditOf } from '../access/audit.ts';
import { type Authenticated, authenticator } from '../access/authenticate.ts';
import { isAudited, refusalOf } from '../access/guard.ts';
import { answerOnce } from '../access/idempotent-requests.ts';
import type { Identity } from '../access/identity.ts';
import { keysOf } from '../access/keys.ts';
import { membersOf } from '../access/members.ts';
import { changeQuota, quotasOf, readStreamLimits } from '../access/quotas.ts';
import { steadyClock } from '../access/steady-clock.ts';
import { type Workspaces, workspacesOf } from '../access/workspaces.ts';
import { readChanges } from '../engine/changes.ts';
import type { RunningServices } from '../engine/running-services.ts';
import { collectGarbage } from '../maintenance/gc.ts';
import { workspaceQuota } from '../ports/ledger.ts';
import type { Records } from '../ports/records.ts';
import { approvalsOf } from '../runs/approvals.ts';
import { listWorkers } from '../runs/list-workers.ts';
import type { WorkerOptions } from '../runs/worker-options.ts';
import { reportUsage, reportWorkspaces, type UsageQuery } from '../runs/workspace-usage.ts';
import type { Vaults } from '../vault/vaults.ts';
import { WebhookDispatcher } from '../webhooks/dispatcher.ts';
import { defaultWebhookSettings, type WebhookSettings } from '../webhooks/post.ts';
import type { WebhookScope } from '../webhooks/webhook-scope.ts';
import { webhooksOf } from '../webhooks/webhooks.ts';
import { RunWorker, type Worker, type WorkerField } from '../worker/worker.ts';
import { agentsOf } from './agents.ts';
import { OwnWorker } from './own-worker.ts';
import { permissionFor, type Verb } from './permissions.ts';
import type { Scope } from './scope.ts';
import type { RuntimeVerbs, ScopedRuntime } from './scoped-runtime.ts';
import { type ScopeOptions, scopesOn } from './scopes.ts';
import { sessionsOf } from './sessions.ts';

export interface IdentityOptions extends Omit<ScopeOptions, 'needWorker'> {
  readonly webhooks?: Partial<WebhookSettings> | undefined;
  /** Whether the runtime executes runs by itself. */
  readonly isWorking: boolean;
}

/** A reason why runs or requests fail. It names no workspace, path or address, because probes may show it. */
export interface RuntimeProblem {
  readonly part: 'store' | 'vault';
  readonly problem: string;
}

export interface Identities {
  as(identity: Identity): ScopedRuntime;
  /** Creates a worker for all workspaces. */
  worker(options?: WorkerOptions): Worker;
  /** The usage of all workspaces, by workspace. */
  usageOfWorkspaces(query: UsageQuery): Promise<UsageReport>;
  readonly workspaces: Workspaces;
  authenticate(token: string): Promise<Authenticated | undefined>;
  makeMasterKey: Vaults['makeMasterKey'];
  rotateMasterKey: Vaults['rotateMasterKey'];
  checkVaults: Vaults['check'];
  problems(): Promise<readonly RuntimeProblem[]>;
  /** Drains the runtime's own worker, which starts no more. */
  drain(): Promise<void>;
  /** Stops workers and dispatchers, then waits for calls in progress and background writes. */
  settle(): Promise<void>;
}

/** Checks that the caller may use a verb. The rejection of a privileged verb is audited like a call of it. */
const check = async ({ caller, audited }: Scope, verb: Verb): Promise<void> => {
  const permission = permissionFor(verb);
  const refusal = refusalOf(caller, verb, permission);
  if (!refusal) return;
  const refuse = () => Promise.reject(refusal);
  await (isAudited(permission) ? audited(verb, undefined, refuse) : refuse());
};

const codeOf = (error: unknown): string => (isPerdureError(error) ? error.code : 'DEFECT');

const storeProblem = (error: unknown): RuntimeProblem => ({
  part: 'store',
  problem: `the store does not answer (${codeOf(error)})`,
});

const vaultProblem: RuntimeProblem = {
  part: 'vault',
  problem: 'a vault cannot be opened (VAULT_LOCKED): check the master key; `perdure vault ls` says more',
};

const findProblems = async (records: Records, vaults: Vaults): Promise<readonly RuntimeProblem[]> => {
  try {
    await records.records(registryWorkspace, 'workspace', { limit: 1 });
    await vaults.sample();
    return [];
  } catch (error) {
    return [isPerdureError(error, 'VAULT_LOCKED') ? vaultProblem : storeProblem(error)];
  }
};

/** Creates a runtime for each member, and the services that work for all workspaces. */
export const identitiesOn = (options: IdentityOptions): Identities => {
  const { store, clock, data, closing, onWarning, agents, isWorking } = options;
  const scopes = scopesOn({ ...options, needWorker: (key) => ownWorker.start(key) });
  const { calls } = scopes;
  const webhookScope = (scope: Scope): WebhookScope => ({
    ...scope,
    postRules: { ...scope.outbound, ...defaultWebhookSettings, ...options.webhooks },
    sealer: scopes.vaults.sealerOf(scope.workspace),
  });
  /** Members and keys live by it, so that a clock that goes back revives none of them. */
  const steady = steadyClock(store, clock);
  const workspaces = workspacesOf(store, clock);
  /** Operations on all workspaces are audited in the workspace `local`, as acts of the program itself. */
  const program = (): Scope => scopes.of({ workspace: 'local', member: 'local', role: 'admin' });
  const atWork: RunningServices = new Set();
  const makeWorker = (field: Pick<WorkerField, 'workspace' | 'scopeOf' | 'keepsAlive'>, given?: WorkerOptions) => {
    const shared = { queue: store, clock, agents: [...agents.keys()], data, closing, atWork, onWarning };
    return new RunWorker({ ...shared, ...field, onBegin: (worker) => ownWorker.giveWayTo(worker) }, given);
  };
  const workerFor = (field: Pick<WorkerField, 'workspace' | 'scopeOf'>, given?: WorkerOptions): Worker =>
    makeWorker({ ...field, keepsAlive: true }, given);
  const workerScopes = new Map<WorkspaceId, Scope>();
  const workerScope = (workspace: WorkspaceId): Scope => {
    const scope = workerScopes.get(workspace) ?? scopes.of({ workspace, member: 'local', role: 'admin' });
    workerScopes.set(workspace, scope);
    return scope;
  };
  const ownWorker = new OwnWorker({
    isWanted: isWorking && agents.size > 0,
    atWork,
    closing,
    onWarning,
    make: () => makeWorker({ scopeOf: workerScope, keepsAlive: false }),
  });
  /** Workers, dispatchers and the collection act for the whole workspace, so they get the trusted scope. */
  const verbsOf = (scope: Scope, trusted: Scope): RuntimeVerbs => ({
    once: (request, work) => answerOnce(scope, request, work),
    check: (verb) => check(scope, verb as Verb),
    gc: (gcOptions) => collectGarbage({ ...trusted, store }, gcOptions),
    changes: (changesOptions) => readChanges(scope, changesOptions),
    workers: () => listWorkers(scope),
    usage: (query) => reportUsage(scope, query),
    worker: (workerOptions) => workerFor({ workspace: scope.workspace, scopeOf: () => trusted }, workerOptions),
    dispatcher: (dispatcherOptions) => new WebhookDispatcher(webhookScope(trusted), atWork, dispatcherOptions),
  });
  return {
    as: (identity) => {
      const trusted = scopes.of(identity);
      const scope = scopes.ofCaller(trusted);
      return {
        sessions: scope.give('sessions', sessionsOf(scope)),
        agents: scope.give('agents', agentsOf(scope)),
        approvals: scope.give('approvals', approvalsOf(scope)),
        members: scope.give('members', membersOf({ ...scope, clock: steady })),
        // A changed quota also wakes private sessions, which an admin does not list.
        quotas: scope.give('quotas', quotasOf(trusted)),
        keys: scope.give('keys', keysOf({ ...scope, clock: steady })),
        audit: scope.give('audit', auditOf(scope)),
        vault: scope.give('vault', scopes.vaults.vaultOf(scope.workspace)),
        webhooks: scope.give('webhooks', webhooksOf(webhookScope(trusted))),
        ...scope.give('runtime', verbsOf(scope, trusted)),
      };
    },
    worker: (workerOptions) => workerFor({ scopeOf: workerScope }, workerOptions),
    usageOfWorkspaces: (query) =>
      calls.count(
        workspaces.list().then((all) =>
          reportWorkspaces(
            { store },
            all.map(({ id }) => id),
            query,
          ),
        ),
      ),
    workspaces: {
      add: (id) => calls.count(program().audited('workspaces.add', id, () => workspaces.add(id))),
      list: () => calls.count(workspaces.list()),
      get: (id) => calls.count(workspaces.get(id)),
      setQuota: (id, limits) =>
        calls.count(
          program().audited('workspaces.setQuota', id, async () => {
            const { id: workspace } = await workspaces.get(id);
            return changeQuota(scopes.of({ workspace, member: 'local', role: 'admin' }), workspaceQuota, limits);
          }),
        ),
      streamLimits: async (id, member) =>
        calls.count(readStreamLimits({ records: store }, parseInput('the workspace', WorkspaceId, id), member)),
      withWebhooks: () => calls.count(workspaces.withWebhooks()),
    },
    makeMasterKey: () => program().audited('vault.makeMasterKey', undefined, () => scopes.vaults.makeMasterKey()),
    checkVaults: () => scopes.vaults.check(),
    rotateMasterKey: (newKey) =>
      program().audited('vault.rotateMasterKey', undefined, () => scopes.vaults.rotateMasterKey(newKey)),
    authenticate: authenticator(store, steady),
    problems: async () => calls.count(findProblems(store, scopes.vaults)).catch((error) => [storeProblem(error)]),
    drain: () => ownWorker.end(),
    settle: async () => {
      await Promise.all([...atWork].map((each) => each.stop()));
      await scopes.settle();
    },
  };
};
