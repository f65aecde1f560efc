import type { WorkspaceId } from '../../schema/ids.ts';
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
  /** Of a worker that has it already. */
  readonly lease?: Lease | undefined;
}

/**
 * What there is to do, beside the logs. A lease only keeps workers out of each other's way; that a run has one writer is the epoch's doing.
 * An append of an event that calls for work enters the session here in the same transaction.
 */
export interface Queue {
  /** Sessions with something to look at now: news since the last `release`, or a time that has come. Oldest first, and last those that somebody has. */
  findWork(workspace: WorkspaceId, limit: number): Promise<readonly Work[]>;
  /** Takes a session that nobody has, or whose lease has lapsed, or that `from` had; renews one's own. False when somebody else has it, or there is nothing to have. */
  lease(
    key: SessionKey,
    options: { readonly holder: Holder; readonly forMs: number; readonly from?: Holder | undefined },
  ): Promise<boolean>;
  /** Gives it back: all is done up to `seq`, and nothing is to be done before `dueAt` or the next news. Nothing when it is not one's own. */
  release(
    key: SessionKey,
    options: { readonly worker: string; readonly seq: number; readonly dueAt?: number | undefined },
  ): Promise<void>;
  /** Calls `wake` when there may be work. Only a hint, as with events. */
  watchWork(workspace: WorkspaceId, wake: () => void): () => void;
}

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
