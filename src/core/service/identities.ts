import { z } from 'zod';
import { MemberId, memberActor, WorkspaceId } from '../../schema/ids.ts';
import { MemberRole, Profile } from '../../schema/member.ts';
import { blobsOf } from '../files/blobs-of.ts';
import { Worktrees } from '../files/disk/worktrees.ts';
import type { Clock } from '../ports/clock.ts';
import type { ResolveModel } from '../ports/model.ts';
import type { RuntimeStore } from '../ports/runtime-store.ts';
import { Previews } from '../run/previews.ts';
import { RunWorker, type Worker, type WorkerOptions } from '../run/worker.ts';
import { type Agent, agentRegistry } from '../session/agent.ts';
import { parseInput } from '../session/event-codec.ts';
import type { Secret } from '../session/redact.ts';
import { type Approvals, approvalsOf } from './approvals.ts';
import { CallsUnderWay } from './calls-under-way.ts';
import { type ChangesOptions, readChanges, type SessionChange } from './changes.ts';
import { type Collected, collectGarbage, type GcOptions } from './gc.ts';
import type { Scope, Timing } from './scope.ts';
import { defaultSnapshotPolicy, SessionFolds, type SnapshotPolicy } from './session-folds.ts';
import { type Sessions, sessionsOf } from './sessions.ts';
import { KnownSecrets } from './vault/known-secrets.ts';

const Identity = z.strictObject({
  workspace: WorkspaceId,
  member: MemberId,
  role: MemberRole.default('member'),
  profile: Profile.optional(),
});
/** Who somebody is, which is for the caller to know. Without a role: `member`. */
export interface Identity {
  readonly workspace: string;
  readonly member: string;
  readonly role?: MemberRole;
  readonly profile?: Profile;
}

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
  readonly timing?: Partial<Timing> | undefined;
  readonly clock: Clock;
  readonly snapshots?: SnapshotPolicy | undefined;
  readonly onWarning: (problem: unknown) => void;
  readonly closing: AbortSignal;
  readonly agents?: readonly Agent[] | undefined;
}

export interface Identities {
  /** The sessions as a member of a workspace sees them. */
  sessionsFor(identity: Identity): Sessions;
  approvalsFor(identity: Identity): Approvals;
  workerFor(identity: Identity, options?: WorkerOptions): Worker;
  collect(identity: Identity, options?: GcOptions): Promise<Collected>;
  changesFor(identity: Identity, options?: ChangesOptions): AsyncGenerator<SessionChange, void, void>;
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
    timing = {},
  } = options;
  const agents = agentRegistry(options.agents ?? []);
  const folds = new SessionFolds(store, parseInput('snapshots', Snapshots, snapshots), onWarning);
  const worktrees = new Worktrees();
  const underWay = new CallsUnderWay(closing);
  const shared = {
    store,
    queue: store,
    models,
    clock,
    folds,
    agents,
    closing,
    underWay,
    onWarning,
    previews: new Previews(),
    timing: parseInput('timing', Timings, timing),
    worktrees,
    data,
    storeFile,
    secrets: new KnownSecrets(secrets, async (known) => known ?? { version: 0, secrets: [] }),
  };
  const scopeFor = (identity: Identity): Scope => {
    const { workspace, member, role, profile } = parseInput('the identity', Identity, identity);
    const blobs = blobsOf(store, workspace);
    return { ...shared, blobs, workspace, actor: memberActor(member), requester: { role, profile } };
  };
  const workers = new Set<Worker>();
  return {
    sessionsFor: (identity) => underWay.of(sessionsOf(scopeFor(identity))),
    approvalsFor: (identity) => underWay.of(approvalsOf(scopeFor(identity))),
    workerFor: (identity, workerOptions) => {
      const worker = new RunWorker(scopeFor(identity), workerOptions);
      workers.add(worker);
      return worker;
    },
    collect: (identity, options) =>
      underWay.of({ collect: async () => collectGarbage({ ...scopeFor(identity), store }, options) }).collect(),
    changesFor: (identity, options) => readChanges(scopeFor(identity), options),
    settle: async () => {
      await Promise.all([...workers].map((worker) => worker.stop()));
      await underWay.settle();
      await folds.settle();
      await worktrees.stop();
    },
  };
};
