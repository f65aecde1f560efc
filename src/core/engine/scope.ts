import type { Area } from '../../schema/areas.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { Actor, KeyId, MemberId, SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { MemberRole, Requester } from '../../schema/member.ts';
import type { Worktrees } from '../files/disk/worktrees.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { ResolveModel } from '../ports/model.ts';
import type { Queue } from '../ports/queue.ts';
import type { Random } from '../ports/random.ts';
import type { Records } from '../ports/records.ts';
import type { Spans } from '../ports/spans.ts';
import type { SessionKey, Store } from '../ports/store.ts';
import type { Timekeeper } from '../ports/timekeeper.ts';
import type { Agent } from '../session/agent.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import type { Previews } from './previews.ts';
import type { SessionFolds } from './session-folds.ts';

/*
 * The slices of what one member of one workspace works with. A use case takes those that it uses; only the runtime puts the whole together.
 */

/** Waits, so that tests need not have them. */
export interface Timing {
  /** Before a model that failed is asked again; twice as long each time. */
  readonly modelBackoffMs: number;
  /** Before a program that waits for a run is warned that no worker holds its agent. */
  readonly untakenMs: number;
}

/** What may be known to tools alone. */
export interface Secrets {
  /** Of all that is secret in the workspace now. */
  redactor(): Promise<Redactor>;
  /** The values that a tool asks for, by their names; SECRET_NOT_FOUND when one is missing. */
  valuesOf(names: readonly string[]): Promise<Readonly<Record<string, string>>>;
}

/** Who calls: a member, and by which key where it was one. */
export interface Caller {
  readonly member: MemberId;
  readonly role: MemberRole;
  readonly key?: KeyId | undefined;
  /** What the key is limited to. */
  readonly areas?: readonly Area[] | undefined;
}

/** The same handle, by the name that it has in the table of permissions; what its caller may not do fails with FORBIDDEN. */
export type GiveHandle = <Handle extends object>(name: string, handle: Handle) => Handle;

/** Reads the logs of a workspace. */
export interface LogAccess {
  readonly store: Store;
  readonly folds: SessionFolds;
  readonly workspace: WorkspaceId;
}

/** Follows logs. */
export interface FollowAccess extends LogAccess {
  readonly clock: Timekeeper;
  /** Aborted when the runtime closes, so that followers end. */
  readonly closing: AbortSignal;
}

/** Writes logs as one member. */
export interface WriteAccess extends LogAccess {
  readonly actor: Actor;
  readonly clock: Timekeeper;
  readonly random: Random;
  readonly secrets: Secrets;
  /** Told of what was written into logs. */
  onAppended(events: readonly SessionEvent[]): void;
}

export interface WarningAccess {
  /** Told of what went wrong beside the calls. */
  onWarning(problem: unknown): void;
}

/** Reads, compares and joins files that the store has. */
export interface FilesAccess {
  readonly blobs: Blobs;
  readonly worktrees: Worktrees;
}

/** Reads and changes the folders of this machine too. */
export interface WorktreeAccess extends FilesAccess, WarningAccess {
  /** The folder of the runtime on this machine, with the worktrees. */
  readonly data: string;
  /** Of a store that is a file: nothing else may open it. */
  readonly storeFile?: string | undefined;
  readonly secrets: Secrets;
}

export interface AgentAccess {
  /** The agents that this runtime holds. */
  readonly agents: ReadonlyMap<string, Agent>;
}

/** Asks models and shows what they write. */
export interface ModelAccess {
  readonly models: ResolveModel;
  readonly previews: Previews;
  readonly spans: Spans;
  readonly timing: Timing;
}

/** Reads and changes what a workspace keeps beside its logs. */
export interface RecordAccess {
  readonly records: Records;
  readonly workspace: WorkspaceId;
  readonly clock: Timekeeper;
  readonly random: Random;
  readonly secrets: Secrets;
}

/** Knows on whose behalf it acts. */
export interface CallerAccess {
  readonly actor: Actor;
  /** Of the same member. */
  readonly requester: Requester;
  readonly caller: Caller;
}

/** Finds out who works on the runs of a workspace, and warns where nobody does. */
export interface WorkerAccess extends WarningAccess {
  readonly queue: Queue;
  readonly workspace: WorkspaceId;
  readonly caller: Caller;
  readonly timing: Timing;
}

export interface HandleAccess {
  /** Every handle goes out through it. */
  readonly give: GiveHandle;
}

export const keyOf = ({ workspace }: Pick<LogAccess, 'workspace'>, session: SessionId): SessionKey => ({
  workspace,
  session,
});
