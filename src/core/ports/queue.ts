import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { SessionKey } from './store.ts';

/**
 * The worker that holds a session. Its name is unique. Another process on the same machine can check whether the
 * worker's process is alive.
 */
export interface Holder {
  readonly worker: string;
  readonly machine: string;
  readonly process: number;
  /** Distinguishes the process from a later one with the same pid. */
  readonly processStart: string;
}

export interface Lease {
  readonly holder: Holder;
  /** Whether the lease has expired, by the store's clock. */
  readonly isExpired: boolean;
}

/** A session with work for a worker. */
export interface Work extends SessionKey {
  /** The seq of the newest event that requires work. */
  readonly seq: number;
  /**
   * The agent that the worker must have, as `name@version`. Empty if the session has no agent, so that any worker can
   * claim it.
   */
  readonly agent: string;
  /** The lease of the worker that already holds the session. */
  readonly lease?: Lease | undefined;
}

/** The maximum number of sessions in progress, counted over all workers. */
export interface Limits {
  readonly perWorkspace?: number | undefined;
  /** The limit for each agent, by `name@version`. */
  readonly perAgent?: Readonly<Record<string, number>> | undefined;
}

export interface Claim {
  readonly holder: Holder;
  readonly forMs: number;
  /** The maximum number of sessions to claim. */
  readonly count: number;
  /** The agents that the worker can execute, as `name@version`. */
  readonly agents: readonly string[];
  /** Claims only from this workspace. Absent means all workspaces. */
  readonly workspace?: WorkspaceId | undefined;
  /** Claims only these sessions of `workspace`. Matches nothing without a workspace. */
  readonly sessions?: readonly SessionId[] | undefined;
  /**
   * All sessions that the worker holds. Any other lease in the worker's name was left by a claim whose response was
   * lost, so that session is free. If absent, no lease in the worker's name is treated as free.
   */
  readonly held?: readonly SessionKey[] | undefined;
  /** Workers that are known to be dead. Their sessions are free. */
  readonly gone?: readonly string[] | undefined;
  readonly limits?: Limits | undefined;
  /**
   * The place of the worker's worktrees. If a session's files are at another place, the session is left for a moment
   * to a worker there with capacity.
   */
  readonly place?: string | undefined;
  /**
   * If set, claims stranded sessions instead. A session is stranded if no worker had its agent for this long, and if
   * `release({ lacksAgent })` was not called for it.
   */
  readonly strandedMs?: number | undefined;
}

export interface Claimed {
  readonly taken: readonly Work[];
  /** Other workers on the same machine that currently hold sessions. */
  readonly neighbours: readonly Holder[];
}

/** What a worker reports about itself while it works. */
export interface Presence {
  readonly holder: Holder;
  readonly place: string;
  /** The workspace that the worker serves. Absent means all workspaces. */
  readonly workspace?: WorkspaceId | undefined;
  readonly agents: readonly string[];
  readonly concurrency: number;
  readonly isDraining: boolean;
}

export interface WorkerState extends Presence {
  /** The start time by the store's clock, like `seenAt`. */
  readonly startedAt: number;
  readonly seenAt: number;
  /** Whether the worker has sent no heartbeat for longer than its lease. */
  readonly isLost: boolean;
  readonly holds: readonly SessionKey[];
}

/**
 * The pending work of all workspaces, stored beside the logs. Leases only prevent workers from doing the same work.
 * The epoch guarantees that a run has one writer. An append that requires work adds the session here in the same
 * transaction. Every call may be repeated.
 */
export interface Queue {
  /**
   * Returns the sessions of a workspace that are due: they have new events since the last `finish`, or their due time
   * has passed. Sorted oldest first, with leased sessions last.
   */
  findWork(workspace: WorkspaceId, limit: number): Promise<readonly Work[]>;
  /**
   * Claims sessions that are free or whose lease of another worker has expired. The worker's own expired leases must
   * be touched or released instead. Workspaces with the least work in progress are served first, so that no workspace
   * waits for the backlog of another. Within a workspace, sessions are sorted by priority, then by age.
   */
  claim(claim: Claim): Promise<Claimed>;
  /** Sends a heartbeat, which renews the leases of `held`. Returns the sessions that the worker still holds. */
  touch(
    presence: Presence,
    options: { readonly held: readonly SessionKey[]; readonly forMs: number },
  ): Promise<readonly SessionKey[]>;
  /**
   * Records that all work up to `seq` is done. The session is due again after `inMs` or at its next event. `place` is
   * where its files now are. No effect if the worker does not hold the lease.
   */
  finish(
    key: SessionKey,
    options: {
      readonly worker: string;
      readonly seq: number;
      readonly inMs?: number | undefined;
      readonly place?: string | undefined;
    },
  ): Promise<void>;
  /**
   * Gives a session back unfinished, so that it can be claimed immediately or after `inMs`. `lacksAgent` ends the
   * claim of a stranded session, which then waits for a worker with its agent.
   */
  release(
    key: SessionKey,
    options: { readonly worker: string; readonly inMs?: number | undefined; readonly lacksAgent?: boolean | undefined },
  ): Promise<void>;
  /** Called when a worker stops. Releases all its sessions and removes the worker from the list. */
  leave(worker: string): Promise<void>;
  /** All workers that sent a heartbeat recently. */
  workers(): Promise<readonly WorkerState[]>;
  /**
   * Calls `wake` when there may be work in the workspace, or in any workspace if none is named. A call is only a hint:
   * it may be late, repeated, or without new work. Returns a function that ends the watch.
   */
  watchWork(workspace: WorkspaceId | undefined, wake: () => void): () => void;
}

/** How long other workers leave a session to a worker that has its files. */
export const preferMs = 500;

/** The types of events that require work by a worker. */
export const callsForWork: ReadonlySet<string> = new Set([
  'input.admitted',
  'run.started',
  'run.resumed',
  'run.ended',
  'approval.settled',
  'question.answered',
  'child.resumed',
  'budget.set',
  'cancel.requested',
  'quota.changed',
  'session.resumed',
  'session.reopened',
  'session.pausing',
  'session.handed',
]);
