import type { SessionKey, StoredEvent } from '../core/ports/store.ts';
import type { WorkspaceId } from '../schema/ids.ts';
import { workSeqOf } from './work-seq.ts';

/** A session that got events, and the newest of them. */
export interface Change extends SessionKey {
  readonly seq: number;
  /** A worker may have something to do there. */
  readonly work: boolean;
}

export const changeOf = (
  { workspace, session, seq }: SessionKey & { readonly seq: number },
  events: readonly StoredEvent[],
): Change => ({ workspace, session, seq, work: workSeqOf(events) !== undefined });

/** Two of one session told as one. */
export const joined = (before: Change | undefined, change: Change): Change =>
  before ? { ...change, seq: Math.max(before.seq, change.seq), work: before.work || change.work } : change;

interface Watched {
  readonly key: SessionKey;
  readonly wakes: Set<() => void>;
  /** The newest event that the watchers were woken for. */
  seq: number;
}

/** What a watcher throws is its own affair, not that of the append that wakes it. */
const apart = (wake: () => void) => () => queueMicrotask(wake);

/** Who wants to be woken for which session or for the work of which workspace, in this process. */
export class Watchers {
  readonly #watched = new Map<string, Watched>();
  readonly #workers = new Map<WorkspaceId, Set<() => void>>();

  get any(): boolean {
    return this.#watched.size + this.#workers.size > 0;
  }

  get keys(): readonly SessionKey[] {
    return [...this.#watched.values()].map(({ key }) => key);
  }

  get workspaces(): readonly WorkspaceId[] {
    return [...this.#workers.keys()];
  }

  /** What it returns takes the watcher away, and tells whether it was still there. */
  add({ workspace, session }: SessionKey, wake: () => void): () => boolean {
    const name = `${workspace}/${session}`;
    const watched = this.#watched.get(name) ?? { key: { workspace, session }, wakes: new Set(), seq: 0 };
    this.#watched.set(name, watched);
    const own = apart(wake);
    watched.wakes.add(own);
    return () => {
      const removed = watched.wakes.delete(own);
      if (watched.wakes.size === 0 && this.#watched.get(name) === watched) this.#watched.delete(name);
      return removed;
    };
  }

  /** For work, as `add` for a session. */
  addWorker(workspace: WorkspaceId, wake: () => void): () => boolean {
    const wakes = this.#workers.get(workspace) ?? new Set();
    this.#workers.set(workspace, wakes);
    const own = apart(wake);
    wakes.add(own);
    return () => {
      const removed = wakes.delete(own);
      if (wakes.size === 0 && this.#workers.get(workspace) === wakes) this.#workers.delete(workspace);
      return removed;
    };
  }

  wake(changes: readonly Change[]): void {
    for (const change of changes) this.#wakeFollowers(change);
    const busy = new Set(changes.flatMap(({ workspace, work }) => (work ? [workspace] : [])));
    for (const workspace of busy) this.wakeWorkers(workspace);
  }

  wakeWorkers(workspace: WorkspaceId): void {
    for (const wake of this.#workers.get(workspace) ?? []) wake();
  }

  clear(): void {
    this.#watched.clear();
    this.#workers.clear();
  }

  wakeAll(): void {
    for (const { wakes } of this.#watched.values()) for (const wake of wakes) wake();
    for (const workspace of this.#workers.keys()) this.wakeWorkers(workspace);
  }

  /** A commit of our own is also heard of from the database; it wakes once. */
  #wakeFollowers({ workspace, session, seq }: Change): void {
    const watched = this.#watched.get(`${workspace}/${session}`);
    if (!watched || seq <= watched.seq) return;
    watched.seq = seq;
    for (const wake of watched.wakes) wake();
  }
}
