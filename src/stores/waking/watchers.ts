import { type SessionKey, type StoredEvent, sessionKeyName, type WakeForSession } from '../../core/ports/store.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { concernsWork } from '../queue/work-entry.ts';

/** A session with new events, and the seq of the newest. */
export interface Change extends SessionKey {
  readonly seq: number;
  /** The time of the newest event, where it is known. */
  readonly at?: number | undefined;
  /** Whether a worker may have something to do there. */
  readonly work: boolean;
}

export const changeOf = (
  { workspace, session, seq }: SessionKey & { readonly seq: number },
  events: readonly StoredEvent[],
): Change => ({ workspace, session, seq, at: events.at(-1)?.at, work: concernsWork(events) });

/** Merges two changes of one session. */
export const joined = (before: Change | undefined, change: Change): Change =>
  before
    ? {
        ...change,
        ...(before.seq > change.seq && { seq: before.seq, at: before.at }),
        work: before.work || change.work,
      }
    : change;

interface Watched {
  readonly key: SessionKey;
  readonly wakes: Set<(seq?: number) => void>;
  /** The newest event that this process committed, until the database's notification of it arrives. */
  own: number;
  /** The newest event at the last poll. */
  found: number;
}

/**
 * Wakes in a later turn of the event loop. The append that wakes is acknowledged first, and an error thrown by a watcher
 * cannot fail it.
 */
const inLaterTurn =
  <Args extends readonly unknown[]>(wake: (...args: Args) => void) =>
  (...args: Args) =>
    void setImmediate(() => wake(...args));

/** For watchers that only note the change. The time at which they note it must be close to that of the change. */
const inMicrotask =
  <Args extends readonly unknown[]>(wake: (...args: Args) => void) =>
  (...args: Args) =>
    queueMicrotask(() => wake(...args));

const wakeFollowers = (watched: Watched | undefined, { seq }: Change): void => {
  for (const wake of watched?.wakes ?? []) wake(seq);
};

/** Returns a function that removes the watcher and returns whether it was still there. */
const keepIn = <Workspace, Wake>(
  kept: Map<Workspace, Set<Wake>>,
  workspace: Workspace,
  wake: Wake,
): (() => boolean) => {
  const wakes = kept.get(workspace) ?? new Set();
  kept.set(workspace, wakes.add(wake));
  return () => {
    const removed = wakes.delete(wake);
    if (wakes.size === 0 && kept.get(workspace) === wakes) kept.delete(workspace);
    return removed;
  };
};

/** The watchers of this process: followers of sessions, workers waiting for work, and watchers of whole workspaces. */
export class Watchers {
  readonly #watched = new Map<string, Watched>();
  /** Undefined is the key of workers that serve all workspaces. */
  readonly #workers = new Map<WorkspaceId | undefined, Set<() => void>>();
  readonly #hearers = new Map<WorkspaceId, Set<WakeForSession>>();

  get any(): boolean {
    return this.#watched.size + this.#workers.size + this.#hearers.size > 0;
  }

  get keys(): readonly SessionKey[] {
    return [...this.#watched.values()].map(({ key }) => key);
  }

  get anyWorker(): boolean {
    return this.#workers.size > 0;
  }

  get heardWorkspaces(): readonly WorkspaceId[] {
    return [...this.#hearers.keys()];
  }

  isHeard(workspace: WorkspaceId): boolean {
    return this.#hearers.has(workspace);
  }

  /** Returns a function that removes the watcher and returns whether it was still there. */
  add({ workspace, session }: SessionKey, wake: (seq?: number) => void): () => boolean {
    const name = sessionKeyName({ workspace, session });
    const watched = this.#watched.get(name) ?? {
      key: { workspace, session },
      wakes: new Set(),
      own: 0,
      found: 0,
    };
    this.#watched.set(name, watched);
    const own = inLaterTurn((seq?: number) => {
      if (watched.wakes.has(own)) wake(seq);
    });
    watched.wakes.add(own);
    return () => {
      const removed = watched.wakes.delete(own);
      if (watched.wakes.size === 0 && this.#watched.get(name) === watched) this.#watched.delete(name);
      return removed;
    };
  }

  /** Like `add`, for work in one workspace or in all. */
  addWorker(workspace: WorkspaceId | undefined, wake: () => void): () => boolean {
    return keepIn(this.#workers, workspace, inMicrotask(wake));
  }

  /** Like `add`, for all sessions of a workspace. */
  addHearer(workspace: WorkspaceId, wake: WakeForSession): () => boolean {
    return keepIn(this.#hearers, workspace, inMicrotask(wake));
  }

  /** Handles commits of this process: wakes every watcher that they concern. */
  committed(changes: readonly Change[]): void {
    for (const change of changes) {
      const watched = this.#watchedBy(change);
      if (watched) watched.own = change.seq;
      wakeFollowers(watched, change);
      this.tell(change);
    }
    this.#wakeWorkersOf(changes);
  }

  /**
   * Handles hints from outside. They may be wrong, so they never suppress a later wake-up. The hint of an own commit
   * does not wake followers a second time. Watchers of a workspace get only verified changes, through `tell`.
   */
  hinted(changes: readonly Change[]): void {
    for (const change of changes) {
      const watched = this.#watchedBy(change);
      if (watched && change.seq <= watched.own) {
        if (change.seq === watched.own) watched.own = 0;
      } else {
        wakeFollowers(watched, change);
      }
    }
    this.#wakeWorkersOf(changes);
  }

  /**
   * Handles polled heads: wakes the followers of each session whose head differs from the last poll, regardless of
   * hints since then.
   */
  found(changes: readonly Change[]): void {
    for (const change of changes) {
      const watched = this.#watchedBy(change);
      if (watched && watched.found !== change.seq) {
        watched.found = change.seq;
        wakeFollowers(watched, change);
      }
      this.tell(change);
    }
  }

  /** Wakes the workers of these workspaces, or of all. */
  wakeWorkers(workspaces?: ReadonlySet<WorkspaceId>): void {
    if (workspaces?.size === 0) return;
    for (const [workspace, wakes] of this.#workers) {
      if (workspaces && workspace !== undefined && !workspaces.has(workspace)) continue;
      for (const wake of wakes) wake();
    }
  }

  /** Notifies the watchers of the workspace. Unlike followers, they may be notified of one event several times. */
  tell({ workspace, session, seq, at }: Pick<Change, 'workspace' | 'session' | 'seq' | 'at'>): void {
    for (const hear of this.#hearers.get(workspace) ?? []) hear(session, seq, at);
  }

  clear(): void {
    this.#watched.clear();
    this.#workers.clear();
    this.#hearers.clear();
  }

  wakeAll(): void {
    for (const { wakes } of this.#watched.values()) for (const wake of wakes) wake();
    this.wakeWorkers();
  }

  #watchedBy(key: SessionKey): Watched | undefined {
    return this.#watched.get(sessionKeyName(key));
  }

  #wakeWorkersOf(changes: readonly Change[]): void {
    this.wakeWorkers(new Set(changes.flatMap(({ workspace, work }) => (work ? [workspace] : []))));
  }
}
