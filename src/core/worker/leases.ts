import { PerdureError } from '../../schema/error.ts';
import type { Presence, Queue } from '../ports/queue.ts';
import { type SessionKey, sessionKeyName } from '../ports/store.ts';
import type { Timekeeper } from '../ports/timekeeper.ts';

/** A session that a worker has claimed. */
export interface Held {
  readonly key: SessionKey;
  /** Aborted when the worker has lost the session, or may have lost it. */
  readonly lost: AbortController;
  /** When the last successful renewal was sent. The lease is valid for at least `leaseMs` from then. */
  renewedAt: number;
}

export interface LeasesOptions {
  readonly queue: Pick<Queue, 'touch'>;
  readonly clock: Timekeeper;
  readonly leaseMs: number;
  presence(): Presence;
  onWarning(problem: unknown): void;
}

/** The sessions of a worker, held for as long as its heartbeats succeed. */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #held = new Map<string, Held>();
  readonly #beats = new Set<Promise<boolean>>();

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  get keys(): readonly SessionKey[] {
    return [...this.#held.values()].map(({ key }) => key);
  }

  take(key: SessionKey, claimedAt: number): Held {
    const held: Held = { key, lost: new AbortController(), renewedAt: claimedAt };
    this.#held.set(sessionKeyName(key), held);
    return held;
  }

  /** Removes a session. Returns false if the session was claimed again meanwhile. */
  drop({ key, lost }: Held): boolean {
    const isNewest = this.#held.get(sessionKeyName(key))?.lost === lost;
    if (isNewest) this.#held.delete(sessionKeyName(key));
    return isNewest;
  }

  /**
   * Sends a heartbeat, and aborts the work on sessions that the worker no longer holds. Returns false if the heartbeat
   * failed.
   */
  beat(): Promise<boolean> {
    const beat = this.#giveSign().finally(() => this.#beats.delete(beat));
    this.#beats.add(beat);
    return beat;
  }

  /** Waits for heartbeats in flight. */
  async settle(): Promise<void> {
    await Promise.all(this.#beats);
  }

  /** Aborts the work on sessions whose heartbeats have failed for so long that another worker may claim them soon. */
  letGoOfDoubtful(): void {
    const doubtful = this.#options.clock.elapsed() - (this.#options.leaseMs * 2) / 3;
    for (const held of this.#held.values()) {
      if (held.renewedAt <= doubtful) this.#lose(held, 'the store was unreachable for most of its lease');
    }
  }

  async #giveSign(): Promise<boolean> {
    const { queue, leaseMs, presence, onWarning } = this.#options;
    const all = [...this.#held.values()].filter(({ lost }) => !lost.signal.aborted);
    const sentAt = this.#options.clock.elapsed();
    try {
      const own = await queue.touch(presence(), { held: all.map(({ key }) => key), forMs: leaseMs });
      const names = new Set(own.map(sessionKeyName));
      for (const held of all) {
        if (names.has(sessionKeyName(held.key))) held.renewedAt = Math.max(held.renewedAt, sentAt);
        else this.#lose(held, 'another worker has it now');
      }
      return true;
    } catch (error) {
      onWarning(error);
      return false;
    }
  }

  #lose({ key, lost }: Held, why: string): void {
    lost.abort(new PerdureError('FENCED', `this worker gave up ${key.session}: ${why}`));
  }
}
