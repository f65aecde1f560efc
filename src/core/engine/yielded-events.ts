import type { SessionKey, Store, StoredEvent } from '../ports/store.ts';
import { linkProblem } from '../session/events/chain.ts';
import type { SeenEvent } from './seen-heads.ts';

/** An asynchronous failover loses seconds. A restore may lose more, and then the reader gets more events again. */
const maxEvents = 1000;
const pageEvents = 256;
/** The beginning of a hash is enough to tell two events of one seq apart. A server has thousands of followers. */
const prefixBytes = 8;
const firstEvents = 16;

const hexOf = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');

/**
 * The events that a follower has yielded, so that it can continue when the store has lost some of them. They are kept
 * as a ring of hash prefixes, which grows to 8 kB.
 */
export class YieldedEvents {
  #ring = Buffer.alloc(0);
  #count = 0;
  #last: { readonly seq: number; readonly hash: Uint8Array } | undefined;

  get last(): SeenEvent | undefined {
    return this.#last && { seq: this.#last.seq, hash: hexOf(this.#last.hash) };
  }

  /** How much memory the hashes take. */
  get bytes(): number {
    return this.#ring.length;
  }

  add({ seq, hash }: StoredEvent): void {
    if (seq !== (this.#last?.seq ?? 0) + 1) this.#count = 0;
    this.#last = { seq, hash };
    const room = this.#ring.length / prefixBytes;
    if (this.#count === room && room < maxEvents) this.#grow(seq, Math.min(maxEvents, Math.max(firstEvents, 2 * room)));
    this.#ring.set(hash.subarray(0, prefixBytes), this.#place(seq));
    this.#count = Math.min(this.#count + 1, maxEvents);
  }

  /** Whether the next event may belong to another log than the last one. Damage looks like this too. */
  mayDiffer(next: StoredEvent): boolean {
    return this.#last !== undefined && linkProblem(this.#last, next) !== undefined;
  }

  /**
   * Forgets the lost events, and returns the seq of the last yielded event that the store still has. If it has none of
   * those in memory, returns the seq before them.
   */
  async commonPoint(store: Store, key: SessionKey): Promise<number> {
    const newest = this.#last!.seq;
    const oldest = newest - this.#count + 1;
    const head = (await store.head(key))?.seq ?? 0;
    for (let upTo = Math.min(head, newest); upTo >= oldest; ) {
      const page = await store.read(key, { after: oldest - 1, upTo, limit: pageEvents, order: 'descending' });
      const common = page.find(({ seq, hash }) => this.#has(seq, hash));
      if (common) {
        this.#count = common.seq - oldest + 1;
        this.#last = { seq: common.seq, hash: common.hash };
        return common.seq;
      }
      if (page.length === 0) break;
      upTo = page.at(-1)!.seq - 1;
    }
    this.#count = 0;
    this.#last = undefined;
    return Math.min(oldest - 1, head);
  }

  #place(seq: number): number {
    return (seq * prefixBytes) % this.#ring.length;
  }

  #has(seq: number, hash: Uint8Array): boolean {
    const at = this.#place(seq);
    return this.#ring.subarray(at, at + prefixBytes).equals(hash.subarray(0, prefixBytes));
  }

  /** Moves the hashes before `seq` to a larger ring. */
  #grow(seq: number, events: number): void {
    const old = this.#ring;
    this.#ring = Buffer.alloc(events * prefixBytes);
    for (let each = seq - this.#count; each < seq; each++) {
      const from = (each * prefixBytes) % old.length;
      old.copy(this.#ring, this.#place(each), from, from + prefixBytes);
    }
  }
}
