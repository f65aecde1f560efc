import { type SessionKey, type StoredEvent, sessionKeyName } from '../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';
import { concernsWork } from '../queue/work-entry.ts';

/** A session that got events, and the newest of them. */
export interface Change extends SessionKey {
  readonly seq: number;
  /** A worker may have something to do there. */
  readonly work: boolean;
}

export const changeOf = (
  { workspace, session, seq }: SessionKey & { readonly seq: number },
  events: readonly StoredEvent[],
): Change => ({ workspace, session, seq, work: concernsWork(events) });

/** Two of one session told as one. */
export const joined = (before: Change | undefined, change: Change): Change =>
  before ? { ...change, seq: Math.max(before.seq, change.seq), work: before.work || change.work } : change;

interface Watched {
  readonly key: SessionKey;
  readonly wakes: Set<(seq?: number) => void>;
  /** The newest event of this process, until the database tells of it too. */
  own: number;
  /** The newest event when the session was last looked at. */
  found: number;
}

type Hear = (session: SessionId, seq: number) => void;

/** What a watcher throws is its own affair, not that of the append that wakes it. */
const apart =
  <Told extends readonly unknown[]>(wake: (...told: Told) => void) =>
  (...told: Told) =>
    queueMicrotask(() => wake(...told));

const wakeFollowers = (watched: Watched | undefined, { seq }: Change): void => {
  for (const wake of watched?.wakes ?? []) wake(seq);
};

/** What it returns takes the watcher away, and tells whether it was still there. */
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

/** Who wants to be woken for which session, for the work of which workspace or for all that happens in it, in this process. */
export class Watchers {
  readonly #watched = new Map<string, Watched>();
  /** Undefined for those who work for all. */
  readonly #workers = new Map<WorkspaceId | undefined, Set<() => void>>();
  readonly #hearers = new Map<WorkspaceId, Set<Hear>>();

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

  /** What it returns takes the watcher away, and tells whether it was still there. */
  add({ workspace, session }: SessionKey, wake: (seq?: number) => void): () => boolean {
    const name = sessionKeyName({ workspace, session });
    const watched = this.#watched.get(name) ?? {
      key: { workspace, session },
      wakes: new Set(),
      own: 0,
      found: 0,
    };
    this.#watched.set(name, watched);
    const own = apart(wake);
    watched.wakes.add(own);
    return () => {
      const removed = watched.wakes.delete(own);
      if (watched.wakes.size === 0 && this.#watched.get(name) === watched) this.#watched.delete(name);
      return removed;
    };
  }

  /** For work in the workspace or in any, as `add` for a session. */
  addWorker(workspace: WorkspaceId | undefined, wake: () => void): () => boolean {
    return keepIn(this.#workers, workspace, apart(wake));
  }

  /** For all sessions of a workspace, as `add` for one. */
  addHearer(workspace: WorkspaceId, wake: Hear): () => boolean {
    return keepIn(this.#hearers, workspace, apart(wake));
  }

  /** By this process: all are woken. */
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
   * Somebody says so, and may be wrong: what is said here keeps nothing from being told later. A commit of our own is heard of in this way
   * too, and wakes once. Who watches a workspace is told what is true, by `tell`.
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

  /** Where sessions stand now: who follows one that stands elsewhere than when it was last looked at is woken, whatever was told since. */
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

  /** Of these workspaces, or all. */
  wakeWorkers(workspaces?: ReadonlySet<WorkspaceId>): void {
    if (workspaces?.size === 0) return;
    for (const [workspace, wakes] of this.#workers) {
      if (workspaces && workspace !== undefined && !workspaces.has(workspace)) continue;
      for (const wake of wakes) wake();
    }
  }

  /** Those who watch the workspace; unlike followers they may hear of one event several times. */
  tell({ workspace, session, seq }: Pick<Change, 'workspace' | 'session' | 'seq'>): void {
    for (const hear of this.#hearers.get(workspace) ?? []) hear(session, seq);
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
