import type { SessionEvent } from '../../schema/event.ts';
import type { Actor, SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { Requester } from '../../schema/member.ts';
import type { Audited, Caller, GiveHandle } from '../access/guard.ts';
import type { Worktrees } from '../files/disk/worktrees.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { Clock } from '../ports/clock.ts';
import type { ResolveModel } from '../ports/model.ts';
import type { Queue } from '../ports/queue.ts';
import type { Records } from '../ports/records.ts';
import type { Spans } from '../ports/spans.ts';
import type { SessionKey, Store } from '../ports/store.ts';
import type { Agent } from '../session/agent.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import type { Previews } from './previews.ts';
import type { SessionFolds } from './session-folds.ts';

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

/** One member of one workspace at work: what every use case is given. */
export interface Scope {
  readonly store: Store;
  readonly queue: Queue;
  /** Starts the runtime's own worker where the session has something to do, unless the program has one or wants none. */
  needWorker(key: SessionKey): void;
  readonly records: Records;
  readonly blobs: Blobs;
  readonly models: ResolveModel;
  readonly previews: Previews;
  readonly timing: Timing;
  readonly worktrees: Worktrees;
  readonly secrets: Secrets;
  /** The folder of the runtime on this machine, with the worktrees. */
  readonly data: string;
  /** Of a store that is a file: nothing else may open it. */
  readonly storeFile?: string | undefined;
  /** Told of what went wrong beside the calls. */
  onWarning(problem: unknown): void;
  readonly clock: Clock;
  readonly spans: Spans;
  /** Told of what was written into logs. */
  onAppended(events: readonly SessionEvent[]): void;
  readonly folds: SessionFolds;
  /** The agents that this runtime holds. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly workspace: WorkspaceId;
  readonly actor: Actor;
  /** Of the same member. */
  readonly requester: Requester;
  readonly caller: Caller;
  readonly audited: Audited;
  /** Every handle goes out through it. */
  readonly give: GiveHandle;
  /** Aborted when the runtime closes, so that followers end. */
  readonly closing: AbortSignal;
}

export const keyOf = (scope: Scope, session: SessionId): SessionKey => ({ workspace: scope.workspace, session });
