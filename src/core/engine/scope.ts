import type { Area } from '../../schema/areas.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { Actor, KeyId, MemberId, SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { MemberRole, Requester } from '../../schema/member.ts';
import type { Reach } from '../../schema/reaches.ts';
import type { Worktrees } from '../files/disk/worktrees.ts';
import type { OutboundPolicy } from '../host/outbound-policy.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { ResolveModel } from '../ports/model.ts';
import type { Queue } from '../ports/queue.ts';
import type { Random } from '../ports/random.ts';
import type { Records } from '../ports/records.ts';
import type { Spans } from '../ports/spans.ts';
import type { SessionKey, Store } from '../ports/store.ts';
import type { Timekeeper } from '../ports/timekeeper.ts';
import type { Tool } from '../ports/tool.ts';
import type { Agent } from '../session/agent.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import type { Folds } from './folds.ts';
import type { Previews } from './previews.ts';
import type { SharedTails } from './shared-tails.ts';

/*
 * Parts of a scope, which is everything that one member of one workspace works with. A use case accepts the parts that
 * it uses, and only the runtime builds the whole.
 */

/** Delays, configurable so that tests need not wait. */
export interface Timing {
  /** Delay before a failed model request is retried. Doubles with each retry. */
  readonly modelBackoffMs: number;
  /** Delay before a program that waits for a run is warned that no worker serves its agent. */
  readonly untakenMs: number;
}

/** The secrets of a workspace, which only tools receive. */
export interface Secrets {
  /** Redacts all current secrets of the workspace. */
  redactor(): Promise<Redactor>;
  /** The values that a tool requests, by name. Fails with SECRET_NOT_FOUND if one is missing. */
  valuesOf(names: readonly string[]): Promise<Readonly<Record<string, string>>>;
}

/** The calling member, and the API key if one was used. */
export interface Caller {
  readonly member: MemberId;
  readonly role: MemberRole;
  /** Which sessions the caller reaches: those of the workspace, or its own and those shared with it. */
  readonly reach: Reach;
  readonly key?: KeyId | undefined;
  /** The areas that the key is limited to. */
  readonly areas?: readonly Area[] | undefined;
  /** The only sessions that the token names. Absent means no such limit. */
  readonly sessions?: readonly SessionId[] | undefined;
}

/** Guards a handle by its name in the permission table. Verbs that the caller may not use fail with FORBIDDEN. */
export type GiveHandle = <Handle extends object>(name: string, handle: Handle) => Handle;

/** Reads the logs of a workspace. */
export interface LogAccess {
  readonly store: Store;
  readonly folds: Folds;
  readonly workspace: WorkspaceId;
}

/** What the caller sees besides the store and folds of its scope, which show no other sessions. */
export interface SightAccess {
  /** Whether the caller sees the session now, apart from what its role alone lets it see. */
  seesByReach(key: SessionKey): Promise<boolean>;
  /**
   * Lists also private sessions of others, if the caller's role may see them for a reason. Read each of them through the
   * scope, which decides and audits.
   */
  readonly listByRole: Store['list'];
  /**
   * The store and the folds with every session, for rules and stops that must hold whatever their caller sees. Nothing
   * that only they contain may be shown.
   */
  readonly whole: Pick<LogAccess, 'store' | 'folds'>;
}

/** Follows logs. */
export interface FollowAccess extends LogAccess {
  readonly clock: Timekeeper;
  readonly tails: SharedTails;
  /** Aborted when the runtime closes, so that followers end. */
  readonly closing: AbortSignal;
}

/** Writes logs as one member. */
export interface WriteAccess extends LogAccess {
  readonly actor: Actor;
  readonly caller: Caller;
  readonly clock: Timekeeper;
  readonly random: Random;
  readonly secrets: Secrets;
  /** Called with the events that were appended to logs. */
  onAppended(events: readonly SessionEvent[]): void;
}

export interface WarningAccess {
  /** Called with problems that do not fail a call. */
  onWarning(problem: unknown): void;
}

/** Reads, compares and merges files in the store. */
export interface FilesAccess {
  readonly blobs: Blobs;
  readonly worktrees: Worktrees;
}

/** Stores files that count for another member than the caller. */
export interface ChargeAccess {
  blobsFor(member: string | undefined): Blobs;
}

/** Reads and changes files in the store, and folders on this machine. */
export interface WorktreeAccess extends FilesAccess, WarningAccess {
  /** The data folder of the runtime on this machine, which contains the worktrees. */
  readonly data: string;
  /** The file of a store that is a single file. No other code may open it. */
  readonly storeFile?: string | undefined;
  readonly secrets: Secrets;
}

export interface OutboundAccess {
  /** Which addresses a workspace may give. */
  readonly outbound: OutboundPolicy;
}

export interface AgentAccess {
  /** The agents that this runtime has. */
  readonly agents: ReadonlyMap<string, Agent>;
}

/** Offers the tool `recall` when a context leaves something out. */
export interface RecallAccess {
  readonly recallTool: Tool;
}

/** Calls models and shows their output in progress. */
export interface ModelAccess {
  readonly models: ResolveModel;
  readonly previews: Previews;
  readonly spans: Spans;
  readonly timing: Timing;
}

/** Reads and changes the records of a workspace. */
export interface RecordAccess {
  readonly records: Records;
  readonly workspace: WorkspaceId;
  readonly clock: Timekeeper;
  readonly random: Random;
  readonly secrets: Secrets;
}

/** Names the member on whose behalf the code acts. */
export interface CallerAccess {
  readonly actor: Actor;
  /** The role and profile of that member. */
  readonly requester: Requester;
  readonly caller: Caller;
}

/** Finds the workers that serve the runs of a workspace, and warns if there are none. */
export interface WorkerAccess extends WarningAccess {
  readonly queue: Queue;
  readonly workspace: WorkspaceId;
  readonly caller: Caller;
  readonly timing: Timing;
  /**
   * Starts the runtime's own worker if the session has work, unless the program has its own worker or disabled this
   * one.
   */
  needWorker(key: SessionKey): void;
}

export interface HandleAccess {
  /** Guards a handle. Every handle passes through this before a caller receives it. */
  readonly give: GiveHandle;
}

/** The same scope with every session. Check first that the caller may act on the session that leads to the others. */
export const seeingAll = <Access extends Pick<SightAccess, 'whole'>>(scope: Access): Access => ({
  ...scope,
  ...scope.whole,
});

export const keyOf = ({ workspace }: Pick<LogAccess, 'workspace'>, session: SessionId): SessionKey => ({
  workspace,
  session,
});
