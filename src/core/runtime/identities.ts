import type { WorkspaceId } from '../../schema/ids.ts';
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
import type { Vaults } from '../vault/vaults.ts';
import { WebhookDispatcher } from '../webhooks/dispatcher.ts';
import { defaultPostRules, type PostRules } from '../webhooks/post.ts';
import type { WebhookScope } from '../webhooks/webhook-scope.ts';
import { webhooksOf } from '../webhooks/webhooks.ts';
import { RunWorker, type Worker, type WorkerField } from '../worker/worker.ts';
import { agentsOf } from './agents.ts';
import { permissionFor, type Verb } from './permissions.ts';
import type { Scope } from './scope.ts';
import type { RuntimeVerbs, ScopedRuntime } from './scoped-runtime.ts';
import { type ScopeOptions, scopesOn } from './scopes.ts';
import { sessionsOf } from './sessions.ts';

export interface IdentityOptions extends ScopeOptions {
  readonly postRules?: Partial<PostRules> | undefined;
}

export interface Identities {
  as(identity: Identity): ScopedRuntime;
  /** For all workspaces. */
  worker(options?: WorkerOptions): Worker;
  readonly workspaces: Workspaces;
  authenticate(token: string): Promise<Authenticated | undefined>;
  makeMasterKey: Vaults['makeMasterKey'];
  rotateMasterKey: Vaults['rotateMasterKey'];
  /** Waits for the calls under way, and for what is being written beside them. */
  settle(): Promise<void>;
}

/** A refusal of what is privileged is written down as if it had been asked for. */
const check = async ({ caller, audited }: Scope, verb: Verb): Promise<void> => {
  const permission = permissionFor(verb);
  const refusal = refusalOf(caller, verb, permission);
  if (!refusal) return;
  const refuse = () => Promise.reject(refusal);
  await (isAudited(permission) ? audited(verb, undefined, refuse) : refuse());
};

/** What each member may do, and what works for all of them. */
export const identitiesOn = (options: IdentityOptions): Identities => {
  const { store, clock, data, closing, onWarning } = options;
  const scopes = scopesOn(options);
  const { calls } = scopes;
  const postRules = { ...defaultPostRules, ...options.postRules };
  const webhookScope = (scope: Scope): WebhookScope => ({
    ...scope,
    postRules,
    sealer: scopes.vaults.sealerOf(scope.workspace),
  });
  const workspaces = workspacesOf(store, clock);
  /** What is done for all workspaces is done by whoever runs the program, and kept with the first of them. */
  const program = (): Scope => scopes.of({ workspace: 'local', member: 'local', role: 'admin' });
  const atWork: RunningServices = new Set();
  const workerFor = (field: Pick<WorkerField, 'workspace' | 'scopeOf'>, workerOptions?: WorkerOptions): Worker => {
    const shared = { queue: store, clock, agents: [...scopes.agents.keys()], data, closing, atWork, onWarning };
    return new RunWorker({ ...shared, ...field }, workerOptions);
  };
  const workerScopes = new Map<WorkspaceId, Scope>();
  const workerScope = (workspace: WorkspaceId): Scope => {
    const scope = workerScopes.get(workspace) ?? scopes.of({ workspace, member: 'local', role: 'admin' });
    workerScopes.set(workspace, scope);
    return scope;
  };
  const verbsOf = (scope: Scope): RuntimeVerbs => ({
    once: (request, work) => answerOnce(scope, request, work),
    check: (verb) => check(scope, verb as Verb),
    gc: (gcOptions) => collectGarbage({ ...scope, store }, gcOptions),
    changes: (changesOptions) => readChanges(scope, changesOptions),
    workers: () => listWorkers(scope),
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
    settle: async () => {
      await Promise.all([...atWork].map((each) => each.stop()));
      await scopes.settle();
    },
  };
};
