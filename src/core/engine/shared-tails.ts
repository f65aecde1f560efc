import { deepFreeze } from '../../schema/deep-freeze.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { longestTimerMs } from '../../schema/timer-limit.ts';
import { type SessionKey, type Store, type StoredEvent, sessionKeyName } from '../ports/store.ts';
import type { CancelTimer, Timekeeper } from '../ports/timekeeper.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { FairTurns } from './fair-turns.ts';
import { missingEvent } from './read-log.ts';

const pageEvents = 64;
const pageBytes = 1024 * 1024;

export interface TailEvent {
  readonly event: SessionEvent;
  readonly stored: StoredEvent;
}

/** The events after a cursor; none after a hint without a new event. Undefined if the follower must read alone. */
export type NextEvents = readonly TailEvent[] | undefined;

interface Waiter {
  readonly cursor: number;
  readonly resolve: (events: NextEvents) => void;
  readonly reject: (error: unknown) => void;
}

export interface TailAccess {
  readonly store: Pick<Store, 'read' | 'watch'>;
  readonly clock: Pick<Timekeeper, 'nextTurn' | 'every'>;
}

/**
 * The end of one log, as its followers in this process share it. A hint makes it read the new events once and decode
 * them once. The events are kept until every waiting follower has them; a follower that comes later reads alone.
 */
class Tail {
  readonly #access: TailAccess;
  readonly #key: SessionKey;
  readonly #turns: FairTurns;
  readonly #stopWatching: () => void;
  readonly #waiting = new Set<Waiter>();
  #page: readonly TailEvent[] = [];
  /** The newest event that was published, and how many pages were. */
  #head = 0;
  #published = 0;
  /** The newest event that hints name since the last read; infinite if one names none. Undefined without a hint. */
  #hinted: number | undefined;
  #isReading = false;
  #letGo: CancelTimer | undefined;
  followers = 0;

  constructor(access: TailAccess, key: SessionKey, turns: FairTurns) {
    this.#access = access;
    this.#key = key;
    this.#turns = turns;
    this.#stopWatching = access.store.watch(key, (seq = Number.POSITIVE_INFINITY) => {
      this.#hinted = Math.max(this.#hinted ?? 0, seq);
      this.#look();
    });
  }

  close(): void {
    this.#stopWatching();
    this.#letGo?.();
  }

  /** Waits for events after the cursor, up to which the follower has read. Waiting keeps the process alive. */
  next(follower: { soloAt: number }, cursor: number, ending: AbortSignal): Promise<NextEvents> {
    if (ending.aborted) return Promise.resolve(undefined);
    const events = cursor < this.#head ? after(this.#page, cursor) : undefined;
    if (events) return Promise.resolve(events);
    // Once for each page, because a store that lost its newest events ends before the page did.
    if (cursor < this.#head && follower.soloAt !== this.#published) {
      follower.soloAt = this.#published;
      return Promise.resolve(undefined);
    }
    const { promise, resolve, reject } = Promise.withResolvers<NextEvents>();
    const leave = (): void => settle(() => resolve(undefined));
    const settle = (settled: () => void): void => {
      ending.removeEventListener('abort', leave);
      this.#waiting.delete(waiter);
      if (this.#waiting.size === 0) {
        this.#letGo?.();
        this.#letGo = undefined;
      }
      settled();
    };
    const waiter: Waiter = {
      cursor,
      resolve: (events) => settle(() => resolve(events)),
      reject: (error) => settle(() => reject(error)),
    };
    this.#waiting.add(waiter);
    this.#letGo ??= this.#access.clock.every(longestTimerMs, () => {}, { keepsAlive: true });
    ending.addEventListener('abort', leave);
    this.#look();
    return promise;
  }

  #look(): void {
    if (this.#hinted !== undefined && !this.#isReading && this.#waiting.size > 0) void this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    const hinted = this.#hinted!;
    this.#hinted = undefined;
    const cursor = [...this.#waiting].reduce((least, { cursor: each }) => Math.min(least, each), Infinity);
    try {
      const range = { after: cursor, limit: pageEvents, maxBytes: pageBytes };
      const stored = await this.#access.store.read(this.#key, range);
      for (const [at, { seq }] of stored.entries()) {
        if (seq !== cursor + 1 + at) throw missingEvent(this.#key, cursor + 1 + at);
      }
      // Frozen, because all followers get the same objects.
      const page = stored.map((each) => ({
        event: deepFreeze(decodeEvent(this.#key.workspace, each)),
        stored: each,
      }));
      this.#isReading = false;
      this.#publish(page, hinted);
    } catch (error) {
      this.#isReading = false;
      for (const { reject } of [...this.#waiting]) reject(error);
    }
    this.#look();
  }

  #publish(page: readonly TailEvent[], hinted: number): void {
    const head = page.at(-1)?.stored.seq;
    if (head !== undefined) {
      this.#page = page;
      this.#head = head;
      this.#published++;
      // More events than fit into a page. If the hint was false, the next read finds nothing.
      if (hinted > head) this.#hinted = Math.max(this.#hinted ?? 0, hinted);
    }
    const waiting = [...this.#waiting];
    // They wait no longer, so that the next read does not read for them again.
    this.#waiting.clear();
    const steps = waiting.map(
      ({ cursor, resolve }) =>
        () =>
          resolve(after(page, cursor) ?? []),
    );
    const release = (): void => {
      if (this.#page === page) this.#page = [];
    };
    this.#turns.add(this.#key.workspace, [...steps, release]);
  }
}

/** The events of the page after the cursor. Undefined if events between the cursor and the page are missing. */
const after = (page: readonly TailEvent[], cursor: number): NextEvents => {
  const skipped = cursor + 1 - (page[0]?.stored.seq ?? Number.POSITIVE_INFINITY);
  if (skipped < 0) return undefined;
  return skipped === 0 ? page : page.slice(skipped);
};

export interface TailFollower {
  next(cursor: number, ending: AbortSignal): Promise<NextEvents>;
  leave(): void;
}

/** The tails of all logs that this process follows, by workspace and session. */
export class SharedTails {
  readonly #access: TailAccess;
  readonly #turns: FairTurns;
  readonly #tails = new Map<string, Tail>();

  constructor(access: TailAccess) {
    this.#access = access;
    this.#turns = FairTurns.of(access.clock);
  }

  get size(): number {
    return this.#tails.size;
  }

  /** Begins to follow. A change after this call wakes the follower, even if it comes before `next`. */
  join(key: SessionKey): TailFollower {
    const name = sessionKeyName(key);
    const tail = this.#tails.get(name) ?? new Tail(this.#access, key, this.#turns);
    this.#tails.set(name, tail);
    tail.followers++;
    const follower = { soloAt: 0 };
    return {
      next: (cursor, ending) => tail.next(follower, cursor, ending),
      leave: () => {
        if (--tail.followers > 0) return;
        this.#tails.delete(name);
        tail.close();
      },
    };
  }
}
