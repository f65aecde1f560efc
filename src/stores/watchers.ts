import type { SessionKey } from '../core/ports/store.ts';

/** A session that got events, and the newest of them. */
export interface Change extends SessionKey {
  readonly seq: number;
}

interface Watched {
  readonly key: SessionKey;
  readonly wakes: Set<() => void>;
  /** The newest event that the watchers were woken for. */
  seq: number;
}

/** Who wants to be woken for which session, in this process. */
export class Watchers {
  readonly #watched = new Map<string, Watched>();

  get any(): boolean {
    return this.#watched.size > 0;
  }

  get keys(): readonly SessionKey[] {
    return [...this.#watched.values()].map(({ key }) => key);
  }

  /** What it returns takes the watcher away, and tells whether it was still there. */
  add({ workspace, session }: SessionKey, wake: () => void): () => boolean {
    const name = `${workspace}/${session}`;
    const watched = this.#watched.get(name) ?? { key: { workspace, session }, wakes: new Set(), seq: 0 };
    this.#watched.set(name, watched);
    // What a watcher throws is its own affair, not that of the append that wakes it.
    const own = () => queueMicrotask(wake);
    watched.wakes.add(own);
    return () => {
      const removed = watched.wakes.delete(own);
      if (watched.wakes.size === 0 && this.#watched.get(name) === watched) this.#watched.delete(name);
      return removed;
    };
  }

  /** A commit of our own is also heard of from the database; it wakes once. */
  wake({ workspace, session, seq }: Change): void {
    const watched = this.#watched.get(`${workspace}/${session}`);
    if (!watched || seq <= watched.seq) return;
    watched.seq = seq;
    for (const wake of watched.wakes) wake();
  }

  clear(): void {
    this.#watched.clear();
  }

  wakeAll(): void {
    for (const { wakes } of this.#watched.values()) for (const wake of wakes) wake();
  }
}
