import type { WorkspaceId } from '../../schema/ids.ts';
import type { UsageReport } from '../../schema/views/usage.ts';
import { auditOf } from '../access/audit.ts';
import { type Authenticated, authenticator } from '../access/authenticate.ts';
import { isAudited, refusalOf } from '../access/guard.ts';
import { answerOnce } from '../access/idempotent-requests.ts';
import type { Identity } from '../access/identity.ts';
import { keysOf } from '../access/keys.ts';
import { membersOf } from '../access/members.ts';
import { type Workspaces, workspacesOf } from '../access/workspaces.ts';
import { readChanges } from '../engine/changes.ts';
import type { RunningServices } from '../engine/running-services.ts';
import { collectGarbage } from '../maintenance/gc.ts';
import { approvalsOf } from '../runs/approvals.ts';
import { listWorkers } from '../runs/list-workers.ts';
import type { WorkerOptions } from '../runs/worker-options.ts';
import { reportUsage, reportWorkspaces, type UsageQuery } from '../runs/workspace-usage.ts';
import type { Vaults } from '../vault/vaults.ts';
import { WebhookDispatcher } from '../webhooks/dispatcher.ts';
import { defaultPostRules, type PostRules } from '../webhooks/post.ts';
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
  readonly postRules?: Partial<PostRules> | undefined;
  /** Whether the runtime executes runs by itself. */
  readonly isWorking: boolean;
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

/** Creates a runtime for each member, and the services that work for all workspaces. */
export const identitiesOn = (options: IdentityOptions): Identities => {
  const { store, clock, data, closing, onWarning, agents, isWorking } = options;
  const scopes = scopesOn({ ...options, needWorker: (key) => ownWorker.start(key) });
  const { calls } = scopes;
  const postRules = { ...defaultPostRules, ...options.postRules };
  const webhookScope = (scope: Scope): WebhookScope => ({
    ...scope,
    postRules,
    sealer: scopes.vaults.sealerOf(scope.workspace),
  });
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
  const verbsOf = (scope: Scope): RuntimeVerbs => ({
    once: (request, work) => answerOnce(scope, request, work),
    check: (verb) => check(scope, verb as Verb),
    gc: (gcOptions) => collectGarbage({ ...scope, store }, gcOptions),
    changes: (changesOptions) => readChanges(scope, changesOptions),
    workers: () => listWorkers(scope),
    usage: (query) => reportUsage(scope, query),
    worker: (workerOptions) => workerFor({ workspace: scope.workspace, scopeOf: () => scope }, workerOptions),
    dispatcher: (dispatcherOptions) => new WebhookDispatcher(webhookScope(scope), atWork, dispatcherOptions),
  });
  return {
    as: (identity) => {
      const scope = scopes.of(identity);
      return {
        sessions: scope.give('sessions', sessionsOf(scope)),
        agents: scope.give('agents', agentsOf(scope)),
        approvals: scope.give('approvals', approvalsOf(scope)),
        members: scope.give('members', membersOf(scope)),
        keys: scope.give('keys', keysOf(scope)),
        audit: scope.give('audit', auditOf(scope)),
        vault: scope.give('vault', scopes.vaults.vaultOf(scope.workspace)),
        webhooks: scope.give('webhooks', webhooksOf(webhookScope(scope))),
        ...scope.give('runtime', verbsOf(scope)),
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
      withWebhooks: () => calls.count(workspaces.withWebhooks()),
    },
    makeMasterKey: () => program().audited('vault.makeMasterKey', undefined, () => scopes.vaults.makeMasterKey()),
    rotateMasterKey: (newKey) =>
      program().audited('vault.rotateMasterKey', undefined, () => scopes.vaults.rotateMasterKey(newKey)),
    authenticate: authenticator(store, clock),
    drain: () => ownWorker.end(),
    settle: async () => {
      await Promise.all([...atWork].map((each) => each.stop()));
      await scopes.settle();
    },
  };
};
