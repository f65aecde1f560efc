import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { type SessionKey, type Store, sessionKeyName } from '../ports/store.ts';

/** An event that this process read or wrote, named by its hash in hex. */
export interface SeenEvent {
  readonly seq: number;
  readonly hash: string;
}

/** A session whose newest events are gone, as after a restore in place or an asynchronous failover. */
export interface Regression {
  readonly key: SessionKey;
  readonly seen: SeenEvent;
  /** The head that the session has now. Undefined if the whole session is gone. */
  readonly found: SeenEvent | undefined;
}

const maxSessions = 10_000;

/** Remembers the newest event of each session in use, so that a store that lost it is noticed. */
export class SeenHeads {
  readonly #store: Store;
  readonly #report: (regression: Regression) => Promise<void>;
  readonly #seen = new BoundedMap<string, SeenEvent>(maxSessions);
  readonly #checking = new Map<string, Promise<boolean>>();

  constructor(store: Store, report: (regression: Regression) => Promise<void>) {
    this.#store = store;
    this.#report = report;
  }

  see(key: SessionKey, { seq, hash }: SeenEvent): void {
    const name = sessionKeyName(key);
    if (seq >= (this.#seen.get(name)?.seq ?? 0)) this.#seen.set(name, { seq, hash });
  }

  /** Whether the head may lack an event that was seen. Heads that were read concurrently look like this too. */
  contradicts(key: SessionKey, { seq, hash }: SeenEvent): boolean {
    const seen = this.#seen.get(sessionKeyName(key));
    return seen !== undefined && (seq < seen.seq || (seq === seen.seq && hash !== seen.hash));
  }

  /**
   * Returns whether the store lost the newest event that was seen, or `event`. A loss is reported once, because the
   * current head is remembered instead.
   */
  async isLost(key: SessionKey, event?: SeenEvent): Promise<boolean> {
    const name = sessionKeyName(key);
    const seen = event ?? this.#seen.get(name);
    if (!seen) return false;
    const checking = this.#checking.get(name) ?? this.#check(key, seen).finally(() => this.#checking.delete(name));
    this.#checking.set(name, checking);
    return checking;
  }

  async #check(key: SessionKey, seen: SeenEvent): Promise<boolean> {
    const [stored] = await this.#store.read(key, { after: seen.seq - 1, upTo: seen.seq, limit: 1 });
    if (stored && hexOf(stored.hash) === seen.hash) return false;
    const head = await this.#store.head(key);
    const found = head && { seq: head.seq, hash: hexOf(head.hash) };
    const name = sessionKeyName(key);
    const isNews = this.#seen.get(name)?.hash === seen.hash || this.contradicts(key, found ?? { seq: 0, hash: '' });
    if (found) this.#seen.set(name, found);
    else this.#seen.delete(name);
    if (isNews) await this.#report({ key, seen, found });
    return true;
  }
}

const hexOf = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');
