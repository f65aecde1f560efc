import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import { memberActor, type WorkspaceId } from '../../schema/ids.ts';
import { blobsOf } from '../files/blobs-of.ts';
import { Worktrees } from '../files/disk/worktrees.ts';
import type { Clock } from '../ports/clock.ts';
import type { ResolveModel } from '../ports/model.ts';
import type { RuntimeStore } from '../ports/runtime-store.ts';
import { noSpans, type Spans } from '../ports/spans.ts';
import { Previews } from '../run/previews.ts';
import { RunWorker, type Worker, type WorkerField, type WorkerOptions } from '../run/worker.ts';
import { type Agent, agentRegistry } from '../session/agent.ts';
import { parseInput } from '../session/event-codec.ts';
import type { Secret } from '../session/redact.ts';
import { agentsOf } from './agents.ts';
import { approvalsOf } from './approvals.ts';
import { CallsUnderWay } from './calls-under-way.ts';
import { readChanges } from './changes.ts';
import { doOnce } from './do-once.ts';
import { collectGarbage } from './gc.ts';
import { guardWith, isAudited, refusalOf } from './guard.ts';
import { type Identity, ParsedIdentity } from './identity.ts';
import { permissionFor, permissions, type Verb } from './permissions.ts';
import { auditOf, auditTrail } from './registry/audit.ts';
import { type Authenticated, authenticator } from './registry/authenticate.ts';
import { keysOf } from './registry/keys.ts';
import { membersOf } from './registry/members.ts';
import { type Workspaces, workspacesOf } from './registry/workspaces.ts';
import type { Scope, Timing } from './scope.ts';
import type { RuntimeVerbs, ScopedRuntime } from './scoped-runtime.ts';
import { defaultSnapshotPolicy, SessionFolds, type SnapshotPolicy } from './session-folds.ts';
import { sessionsOf } from './sessions.ts';
import type { MasterKeySource } from './vault/master-key.ts';
import { Vaults } from './vault/vaults.ts';
import { type Dispatcher, WebhookDispatcher } from './webhooks/dispatcher.ts';
import { defaultPostRules, type PostRules } from './webhooks/post.ts';
import type { WebhookScope } from './webhooks/webhook-scope.ts';
import { webhooksOf } from './webhooks/webhooks.ts';
import { listWorkers } from './workers.ts';

const Timings = z.strictObject({ modelBackoffMs: z.number().nonnegative().default(1000) });
const Snapshots = z.strictObject({ everyEvents: z.number().positive(), everyBytes: z.number().positive() });

export interface IdentityOptions {
  readonly store: RuntimeStore;
  readonly models: ResolveModel;
  /** Where worktrees are. */
  readonly data: string;
  readonly storeFile?: string | undefined;
  /** Known by the configuration, in every workspace. */
  readonly secrets: () => Promise<readonly Secret[]>;
  readonly masterKey: MasterKeySource;
  readonly timing?: Partial<Timing> | undefined;
  readonly clock: Clock;
  readonly snapshots?: SnapshotPolicy | undefined;
  readonly onWarning: (problem: unknown) => void;
  readonly closing: AbortSignal;
  readonly agents?: readonly Agent[] | undefined;
  readonly postRules?: Partial<PostRules> | undefined;
  readonly spans?: Spans | undefined;
  readonly onAppended?: ((events: readonly SessionEvent[]) => void) | undefined;
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

/** All members of all workspaces share one store and the folds of the sessions in use. */
export const identitiesOn = (options: IdentityOptions): Identities => {
  const {
    store,
    clock,
    snapshots = defaultSnapshotPolicy,
    onWarning,
    closing,
    models,
    data,
    storeFile,
    secrets,
    masterKey,
    timing = {},
    spans = noSpans,
    onAppended = () => {},
  } = options;
  const agents = agentRegistry(options.agents ?? []);
  const folds = new SessionFolds(store, parseInput('snapshots', Snapshots, snapshots), onWarning);
  const worktrees = new Worktrees();
  const underWay = new CallsUnderWay(closing);
  const shared = {
    store,
    queue: store,
    records: store,
    models,
    clock,
    spans,
    onAppended: (events: readonly SessionEvent[]) => {
      try {
        onAppended(events);
      } catch (problem) {
        onWarning(problem);
      }
    },
    folds,
    agents,
    closing,
    onWarning,
    previews: new Previews(store, closing),
    timing: parseInput('timing', Timings, timing),
    worktrees,
    data,
    storeFile,
  };
  const vaults = new Vaults({ records: store, clock, masterKey, configured: secrets });
  const scopeFor = (identity: Identity): Scope => {
    const { workspace, profile, ...caller } = parseInput('the identity', ParsedIdentity, identity);
    const { member, role } = caller;
    const workspaceSecrets = vaults.secretsOf(workspace);
    const audited = auditTrail({ ...shared, workspace, caller, secrets: workspaceSecrets });
    const guard = guardWith(permissions, caller, audited);
    return {
      ...shared,
      blobs: blobsOf(store, workspace),
      secrets: workspaceSecrets,
      onWarning: (problem) => onWarning(workspaceSecrets.tellable(problem)),
      workspace,
      actor: memberActor(member),
      requester: { role, profile },
      caller,
      audited,
      give: (name, handle) => underWay.of(guard(name, handle)),
    };
  };
  const postRules = { ...defaultPostRules, ...options.postRules };
  const webhookScope = (scope: Scope): WebhookScope => ({
    ...scope,
    postRules,
    sealer: vaults.sealerOf(scope.workspace),
  });
  const workspaces = workspacesOf(store, clock);
  /** What is done for all workspaces is done by whoever runs the program, and kept with the first of them. */
  const program = (): Scope => scopeFor({ workspace: 'local', member: 'local', role: 'admin' });
  const workers = new Set<Worker | Dispatcher>();
  const workerFor = (field: Pick<WorkerField, 'workspace' | 'scopeOf'>, workerOptions?: WorkerOptions): Worker => {
    const worker = new RunWorker(
      { queue: store, agents: [...agents.keys()], data, onWarning, ...field },
      workerOptions,
    );
    workers.add(worker);
    return worker;
  };
  const workerScopes = new Map<WorkspaceId, Scope>();
  const workerScope = (workspace: WorkspaceId): Scope => {
    const scope = workerScopes.get(workspace) ?? scopeFor({ workspace, member: 'local', role: 'admin' });
    workerScopes.set(workspace, scope);
    return scope;
  };
  const verbsOf = (scope: Scope): RuntimeVerbs => ({
    once: (request, work) => doOnce(scope, request, work),
    check: async (verb) => {
      const permission = permissionFor(verb as Verb);
      const refusal = refusalOf(scope.caller, verb, permission);
      const refuse = async () => {
        throw refusal;
      };
      if (refusal) await (isAudited(permission) ? scope.audited(verb, undefined, refuse) : refuse());
    },
    gc: (gcOptions) => collectGarbage({ ...scope, store }, gcOptions),
    changes: (changesOptions) => readChanges(scope, changesOptions),
    workers: () => listWorkers(scope),
    worker: (workerOptions) => workerFor({ workspace: scope.workspace, scopeOf: () => scope }, workerOptions),
    dispatcher: (dispatcherOptions) => {
      const dispatcher = new WebhookDispatcher(webhookScope(scope), dispatcherOptions);
      workers.add(dispatcher);
      return dispatcher;
    },
  });
  return {
    as: (identity) => {
      const scope = scopeFor(identity);
      return {
        sessions: scope.give('sessions', sessionsOf(scope)),
        agents: scope.give('agents', agentsOf(scope)),
        approvals: scope.give('approvals', approvalsOf(scope)),
        members: scope.give('members', membersOf(scope)),
        keys: scope.give('keys', keysOf(scope)),
        audit: scope.give('audit', auditOf(scope)),
        vault: scope.give('vault', vaults.vaultOf(scope.workspace)),
        webhooks: scope.give('webhooks', webhooksOf(webhookScope(scope))),
        ...scope.give('runtime', verbsOf(scope)),
      };
    },
    worker: (workerOptions) => workerFor({ scopeOf: workerScope }, workerOptions),
    workspaces: underWay.of({
      ...workspaces,
      add: (id) => program().audited('workspaces.add', id, () => workspaces.add(id)),
    }),
    makeMasterKey: () => program().audited('vault.makeMasterKey', undefined, () => vaults.makeMasterKey()),
    rotateMasterKey: (newKey) =>
      program().audited('vault.rotateMasterKey', undefined, () => vaults.rotateMasterKey(newKey)),
    authenticate: authenticator(store, clock),
    settle: async () => {
      await Promise.all([...workers].map((worker) => worker.stop()));
      await underWay.settle();
      await folds.settle();
      await worktrees.stop();
    },
  };
};
