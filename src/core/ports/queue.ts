import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { SessionKey } from './store.ts';

/** Who works on a session: a name that no other worker has, and whether it still lives can be asked of the machine it names. */
export interface Holder {
  readonly worker: string;
  readonly machine: string;
  readonly process: number;
  /** Tells the process from a later one of the same number. */
  readonly processStart: string;
}

export interface Lease {
  readonly holder: Holder;
  /** By the store's clock. */
  readonly isExpired: boolean;
}

/** A session in which something happened that a worker has to look at. */
export interface Work extends SessionKey {
  /** Of the newest event that called for it. */
  readonly seq: number;
  /** Who can work on it, as `name@version`; empty when it is bound to none, and everybody can. */
  readonly agent: string;
  /** Of a worker that has it already. */
  readonly lease?: Lease | undefined;
}

/** At most so many sessions at once, whoever works on them. */
export interface Limits {
  readonly perWorkspace?: number | undefined;
  /** By `name@version`. */
  readonly perAgent?: Readonly<Record<string, number>> | undefined;
}

export interface Claim {
  readonly holder: Holder;
  readonly forMs: number;
  /** How many at most. */
  readonly count: number;
  /** Those it holds. */
  readonly agents: readonly string[];
  /** Of one workspace; of all without it. */
  readonly workspace?: WorkspaceId | undefined;
  /** Only these, of the workspace; without one there are none. */
  readonly sessions?: readonly SessionId[] | undefined;
  /** All that it has: what is its own besides was given out by a claim whose answer was lost, and is free. Without it, nothing is. */
  readonly held?: readonly SessionKey[] | undefined;
  /** Workers that are known to be dead: what they have is free. */
  readonly gone?: readonly string[] | undefined;
  readonly limits?: Limits | undefined;
  /** Where its worktrees are: sessions whose files are elsewhere are left for a moment to a worker there that has room. */
  readonly place?: string | undefined;
  /** Instead: sessions of agents that it does not hold, that waited so long for somebody who does, and that were not left by `release({ lacksAgent })`. */
  readonly strandedMs?: number | undefined;
}

export interface Claimed {
  readonly taken: readonly Work[];
  /** Other workers of the same machine that have sessions now. */
  readonly neighbours: readonly Holder[];
}

/** What a worker says of itself, for as long as it works. */
export interface Presence {
  readonly holder: Holder;
  readonly place: string;
  /** Of one workspace; of all without it. */
  readonly workspace?: WorkspaceId | undefined;
  readonly agents: readonly string[];
  readonly concurrency: number;
  readonly isDraining: boolean;
}

export interface WorkerState extends Presence {
  /** By the store's clock. */
  readonly startedAt: number;
  readonly seenAt: number;
  /** Nothing was heard of it for longer than it said. */
  readonly isLost: boolean;
  readonly holds: readonly SessionKey[];
}

/**
 * What there is to do, beside the logs, of all workspaces. A lease only keeps workers out of each other's way; that a run has one writer is the
 * epoch's doing. An append of an event that calls for work enters the session here in the same transaction. Every call may be made twice.
 */
export interface Queue {
  /** Sessions of a workspace with something to look at now: news since the last `finish`, or a time that has come. Oldest first, and last those that somebody has. */
  findWork(workspace: WorkspaceId, limit: number): Promise<readonly Work[]>;
  /**
   * Takes sessions that nobody has, or whose lease has lapsed unless it was one's own: that is to be touched or given back. Workspaces that have least at work come first, so that none waits for another's
   * backlog; within a workspace those of higher priority, and then the oldest.
   */
  claim(claim: Claim): Promise<Claimed>;
  /** A sign of life: renews the leases of those it has. Gives those of them that are still its own. */
  touch(
    presence: Presence,
    options: { readonly held: readonly SessionKey[]; readonly forMs: number },
  ): Promise<readonly SessionKey[]>;
  /** All is done up to `seq`, and nothing is to be done before `inMs` or the next news. `place`: where its files are now. Nothing when it is not one's own. */
  finish(
    key: SessionKey,
    options: {
      readonly worker: string;
      readonly seq: number;
      readonly inMs?: number | undefined;
      readonly place?: string | undefined;
    },
  ): Promise<void>;
  /** Gives it back undone, to be taken at once or in a while. `lacksAgent`: by who looked at it as stranded; it waits for one who holds its agent. */
  release(
    key: SessionKey,
    options: { readonly worker: string; readonly inMs?: number | undefined; readonly lacksAgent?: boolean | undefined },
  ): Promise<void>;
  /** The worker ends: gives back what it has, and is forgotten. */
  leave(worker: string): Promise<void>;
  /** All that were heard of lately. */
  workers(): Promise<readonly WorkerState[]>;
  /** Calls `wake` when there may be work in the workspace, or in any. Only a hint, as with events. */
  watchWork(workspace: WorkspaceId | undefined, wake: () => void): () => void;
}

/** For so long a session is left to a worker that has its files. */
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
