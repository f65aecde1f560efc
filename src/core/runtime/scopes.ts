import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import { memberActor } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { auditTrail } from '../access/audit.ts';
import { CallsUnderWay } from '../access/calls-under-way.ts';
import { guardWith } from '../access/guard.ts';
import { type Identity, ParsedIdentity } from '../access/identity.ts';
import { recordRegression, storeWentBack } from '../access/record-regression.ts';
import { newOwners, sightOf } from '../access/sight.ts';
import { Previews } from '../engine/previews.ts';
import type { Timing } from '../engine/scope.ts';
import { defaultSnapshotPolicy, SessionFolds, type SnapshotPolicy } from '../engine/session-folds.ts';
import { SharedTails } from '../engine/shared-tails.ts';
import { blobsOf } from '../files/blobs-of.ts';
import { Worktrees } from '../files/disk/worktrees.ts';
import { defaultOutboundPolicy, type OutboundPolicy } from '../host/outbound-policy.ts';
import type { ResolveModel } from '../ports/model.ts';
import type { Notes } from '../ports/notes.ts';
import type { Random } from '../ports/random.ts';
import type { RuntimeStore } from '../ports/runtime-store.ts';
import { noSpans, type Spans } from '../ports/spans.ts';
import type { Timekeeper } from '../ports/timekeeper.ts';
import type { Tool } from '../ports/tool.ts';
import type { Agent } from '../session/agent.ts';
import type { Secret } from '../session/redaction/redact.ts';
import type { MasterKeySource } from '../vault/master-key.ts';
import { Vaults } from '../vault/vaults.ts';
import { offeredAgents } from './agents.ts';
import { permissions } from './permissions.ts';
import type { Scope } from './scope.ts';

export const Timings = z.strictObject({
  modelBackoffMs: z.number().nonnegative().default(1000),
  untakenMs: z
    .number()
    .nonnegative()
    .max(2 ** 31 - 1)
    .default(3000),
});
const Snapshots = z.strictObject({ everyEvents: z.number().positive(), everyBytes: z.number().positive() });

interface Settings {
  readonly timing?: Partial<Timing> | undefined;
  readonly snapshots?: SnapshotPolicy | undefined;
}

export interface ScopeOptions extends Settings {
  readonly store: RuntimeStore;
  readonly models: ResolveModel;
  /** The folder for worktrees. */
  readonly data: string;
  readonly storeFile?: string | undefined;
  /** The secrets of the configuration, which are known in every workspace. */
  readonly secrets: () => Promise<readonly Secret[]>;
  readonly masterKey: MasterKeySource;
  readonly outbound?: Partial<OutboundPolicy> | undefined;
  readonly clock: Timekeeper;
  readonly random: Random;
  readonly onWarning: (problem: unknown) => void;
  readonly closing: AbortSignal;
  /** Keyed by name and version. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly recallTool: Tool;
  readonly spans?: Spans | undefined;
  /** Carries notes in place of the store. */
  readonly notes?: Notes | undefined;
  readonly onAppended?: ((events: readonly SessionEvent[]) => void) | undefined;
  readonly needWorker: Scope['needWorker'];
}

export interface Scopes {
  /** The scope in which the runtime itself acts, for workers and maintenance. It sees every session. */
  of(identity: Identity): Scope;
  /** The same scope as its caller may use it. It shows only the sessions and agents that the caller sees. */
  ofCaller(trusted: Scope): Scope;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly vaults: Vaults;
  /** The calls in progress of all handles. */
  readonly calls: CallsUnderWay;
  /** Waits for calls in progress and background writes. */
  settle(): Promise<void>;
}

/** Validates a runtime's settings and fills in defaults. */
export const settingsOf = ({ snapshots = defaultSnapshotPolicy, timing = {} }: Settings) => ({
  snapshots: parseInput('snapshots', Snapshots, snapshots),
  timing: parseInput('timing', Timings, timing),
});

/** All members of all workspaces share one store and the folds of the sessions in use. */
export const scopesOn = (options: ScopeOptions): Scopes => {
  const {
    store,
    clock,
    random,
    onWarning,
    closing,
    models,
    data,
    storeFile,
    secrets,
    masterKey,
    agents,
    recallTool,
    spans = noSpans,
    notes = store,
    onAppended = () => {},
    needWorker,
  } = options;
  const { snapshots, timing } = settingsOf(options);
  const folds = new SessionFolds(store, snapshots, onWarning, async (regression) => {
    onWarning(storeWentBack(regression));
    await recordRegression({ records: store, clock }, regression).catch(onWarning);
  });
  const worktrees = new Worktrees();
  const calls = new CallsUnderWay(closing);
  const shared = {
    store,
    queue: store,
    needWorker,
    records: store,
    models,
    clock,
    random,
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
    recallTool,
    closing,
    onWarning,
    previews: new Previews(notes, clock, closing),
    tails: new SharedTails({ store, clock }),
    timing,
    worktrees,
    data,
    storeFile,
    outbound: { ...defaultOutboundPolicy, ...options.outbound },
  };
  const vaults = new Vaults({ records: store, clock, random, masterKey, configured: secrets });
  const scopeOf = (identity: Identity): Scope => {
    const { workspace, profile, ...caller } = parseInput('the identity', ParsedIdentity, identity);
    const { member, role } = caller;
    const workspaceSecrets = vaults.secretsOf(workspace);
    const audited = auditTrail({ ...shared, workspace, caller, secrets: workspaceSecrets });
    return {
      ...shared,
      blobs: blobsOf(store, workspace, member),
      blobsFor: (payer) => blobsOf(store, workspace, payer),
      secrets: workspaceSecrets,
      onWarning: (problem) => onWarning(workspaceSecrets.tellable(problem)),
      workspace,
      actor: memberActor(member),
      requester: { role, profile },
      caller,
      audited,
      give: guardWith(permissions, caller, audited, calls),
      seesByReach: async () => true,
      listByRole: (...asked) => store.list(...asked),
      whole: { store, folds },
    };
  };
  const owners = newOwners();
  return {
    of: scopeOf,
    ofCaller: (trusted) => ({ ...trusted, ...sightOf({ ...trusted, owners }), agents: offeredAgents(trusted) }),
    agents,
    vaults,
    calls,
    settle: async () => {
      await calls.settle();
      await folds.settle();
      await worktrees.stop();
    },
  };
};
