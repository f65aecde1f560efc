import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { SessionKey } from './store.ts';

/** The worker that holds a session. Its name is unique. Its machine can check whether the process is alive. */
export interface Holder {
  readonly worker: string;
  readonly machine: string;
  readonly process: number;
  /** Distinguishes the process from a later one with the same pid. */
  readonly processStart: string;
}

export interface Lease {
  readonly holder: Holder;
  /** Judged by the store's clock. */
  readonly isExpired: boolean;
}

/** A session that a worker has to look at. */
export interface Work extends SessionKey {
  /** The seq of the newest event that calls for work. */
  readonly seq: number;
  /**
   * The agent that the worker must have, as `name@version`. Empty if the session has no agent, so that any worker can
   * take it.
   */
  readonly agent: string;
  /** The lease of the worker that already has the session. */
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
  /** The agents that the worker has. */
  readonly agents: readonly string[];
  /** Claims only from this workspace. Absent means all workspaces. */
  readonly workspace?: WorkspaceId | undefined;
  /** Claims only these sessions of `workspace`. Matches nothing without a workspace. */
  readonly sessions?: readonly SessionId[] | undefined;
  /**
   * All sessions that the worker has. Any other lease in its name comes from a claim whose answer was lost, and is
   * free. Absent means that no such lease is free.
   */
  readonly held?: readonly SessionKey[] | undefined;
  /** Workers that are known to be dead. Their sessions are free. */
  readonly gone?: readonly string[] | undefined;
  readonly limits?: Limits | undefined;
  /**
   * Where the worker's worktrees are. A session whose files are elsewhere is left for a moment to a worker there with
   * capacity.
   */
  readonly place?: string | undefined;
  /**
   * If set, claims stranded sessions instead: no worker had their agent for this long, and `release({ lacksAgent })`
   * was not called for them.
   */
  readonly strandedMs?: number | undefined;
}

export interface Claimed {
  readonly taken: readonly Work[];
  /** Other workers on the same machine that currently have sessions. */
  readonly neighbours: readonly Holder[];
}

/** What a worker reports about itself while it works. */
export interface Presence {
  readonly holder: Holder;
  readonly place: string;
  /** The workspace that it works for. Absent means all workspaces. */
  readonly workspace?: WorkspaceId | undefined;
  readonly agents: readonly string[];
  readonly concurrency: number;
  readonly isDraining: boolean;
}

export interface WorkerState extends Presence {
  /** By the store's clock, like `seenAt`. */
  readonly startedAt: number;
  readonly seenAt: number;
  /** Whether the worker has been silent for longer than its lease. */
  readonly isLost: boolean;
  readonly holds: readonly SessionKey[];
}

/**
 * The work of all workspaces, beside the logs. Leases only keep workers out of each other's way. The epoch makes sure
 * that a run has one writer. An append that calls for work adds the session here in the same transaction. Every call
 * may be repeated.
 */
export interface Queue {
  /**
   * Sessions of a workspace that are due: they have news since the last `finish`, or their time has come. Oldest first,
   * leased ones last.
   */
  findWork(workspace: WorkspaceId, limit: number): Promise<readonly Work[]>;
  /**
   * Claims sessions that are free or whose lease of another worker has expired. The worker's own expired leases must be
   * touched or released instead. Workspaces with the least work in progress come first, so that none waits for
   * another's backlog. Within a workspace, higher priority comes first, then age.
   */
  claim(claim: Claim): Promise<Claimed>;
  /** A heartbeat: renews the leases of `held`. Returns those that the worker still has. */
  touch(
    presence: Presence,
    options: { readonly held: readonly SessionKey[]; readonly forMs: number },
  ): Promise<readonly SessionKey[]>;
  /**
   * All work up to `seq` is done, and nothing is due before `inMs` or the next news. `place` is where the files now
   * are. No effect without the lease.
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
   * Gives a session back unfinished, to be claimed at once or after `inMs`. `lacksAgent` ends a stranded claim: the
   * session then waits for a worker with its agent.
   */
  release(
    key: SessionKey,
    options: { readonly worker: string; readonly inMs?: number | undefined; readonly lacksAgent?: boolean | undefined },
  ): Promise<void>;
  /** The worker stops: releases all its sessions and removes it from the list. */
  leave(worker: string): Promise<void>;
  /** All workers that were heard of recently. */
  workers(): Promise<readonly WorkerState[]>;
  /**
   * Calls `wake` when there may be work in the workspace, or in any workspace. Only a hint: it may come late, twice or
   * without news.
   */
  watchWork(workspace: WorkspaceId | undefined, wake: () => void): () => void;
}

/** How long a session is left to a worker that has its files. */
export const preferMs = 500;

/** The events after which a worker has to look at a session. */
export const callsForWork: ReadonlySet<string> = new Set([
  'input.admitted',
  'run.started',
  'run.resumed',
  'run.ended',
  'approval.settled',
  'question.answered',
  'child.resumed',
  'budget.set',
  'session.resumed',
  'session.reopened',
  'session.pausing',
  'session.handed',
]);
