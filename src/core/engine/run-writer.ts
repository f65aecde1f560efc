import { Mutex } from '../../concurrency/mutex.ts';
import type { EventDraft, SessionEvent } from '../../schema/event.ts';
import type { Fence, FencedWriter, Head, SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { type Decide, decideTogether, type WaitingDecision } from './decision-batch.ts';
import type { WriteAccess } from './scope.ts';
import {
  fenceOf,
  readHead,
  type SessionWrite,
  type WriteDecision,
  type WriteResult,
  writeDecision,
} from './session-writer.ts';

export type { Decide };

/** The maximum number of decisions in one append. */
const maxTogether = 64;

/** The facts that stop a run, and what must still hold when they land. */
export interface Seizure extends Pick<WriteDecision, 'drafts' | 'onlyWhile'> {
  /** Set if the facts concern no run in progress, so that its worker keeps the session. */
  readonly isApart?: boolean;
}

/**
 * Writes to the log as the run of a session. It holds the fence from its claim on. Once another writer claims the
 * session, every write throws FENCED.
 */
export class RunWriter {
  readonly #scope: WriteAccess;
  readonly key: SessionKey;
  #fence: Fence | undefined;
  #writtenTo = 0;
  /** Parallel calls write one after another. */
  readonly #writing = new Mutex();
  /** Decisions that wait for the append in flight. They are appended together. */
  #waiting: WaitingDecision[] | undefined;
  /** Called with the written events, in order. */
  onWritten: (events: readonly SessionEvent[]) => void = () => undefined;

  constructor(scope: WriteAccess, key: SessionKey) {
    this.#scope = scope;
    this.key = key;
  }

  /** The seq of the newest event that this writer wrote, or 0. */
  get writtenTo(): number {
    return this.#writtenTo;
  }

  get fence(): Fence | undefined {
    return this.#fence;
  }

  /** Whether this writer may still write on `head`. */
  holds({ epoch, claim, seq }: Head): boolean {
    return epoch === this.#fence?.epoch && claim === this.#fence.claim && seq >= this.#writtenTo;
  }

  /**
   * Returns the newest fold, which is never older than this writer's own events. Otherwise a call that has ended would
   * be recovered as lost.
   */
  async fold(): Promise<SessionFold> {
    const fold = await this.#scope.folds.recent(this.key);
    return fold.seq < this.#writtenTo ? this.#scope.folds.head(this.key) : fold;
  }

  /**
   * Claims the session and fences all other run writers. Decides on the newest head, or on `read` if given. Decides
   * again if the head moves.
   */
  async claim(decide: Decide, read?: Head): Promise<readonly SessionEvent[] | undefined> {
    const { appended, events } = await this.#write({
      read: (attempt) => readHead(this.#scope, this.key, attempt === 0 ? read : undefined),
      decide: async (fold) => ({ drafts: (await decide(fold)) ?? [], takesOver: true, raisesEpoch: true }),
    });
    if (!appended) return undefined;
    this.#fence = fenceOf(appended.head);
    return events;
  }

  /**
   * Stops the run of the session at any head, and fences all other run writers. The decided events are facts, so no
   * other writer can delay them, and this writer holds the new fence from then on. Facts that are `isApart` fence no one.
   */
  async seize(decide: (fold: SessionFold) => Seizure | undefined): Promise<readonly SessionEvent[] | undefined> {
    let raisesEpoch = true;
    const { appended, events } = await this.#write({
      read: () => readHead(this.#scope, this.key),
      decide: (fold) => {
        const { isApart, ...seizure } = decide(fold) ?? { drafts: [] };
        raisesEpoch = !isApart;
        return { ...seizure, fact: true, raisesEpoch };
      },
    });
    if (!appended) return undefined;
    if (raisesEpoch) this.#fence = fenceOf(appended.head);
    return events;
  }

  /** Appends a fact, which is accepted at any head. */
  record(...drafts: readonly EventDraft[]): Promise<readonly SessionEvent[]> {
    this.#waiting = undefined; // later decisions must not overtake the fact
    return this.#writing.run(async () => (await this.#writeHeld(() => drafts, true)).events);
  }

  /**
   * Appends a decision on the head that it was decided on. Decides again if the head has moved. Decisions that wait at
   * the same time are one append.
   */
  decide(decide: Decide): Promise<readonly SessionEvent[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly SessionEvent[]>();
    const decision = { decide, resolve, reject };
    if (this.#waiting && this.#waiting.length < maxTogether) {
      this.#waiting.push(decision);
      return promise;
    }
    const waiting = [decision];
    this.#waiting = waiting;
    void this.#writing.run(async () => {
      if (this.#waiting === waiting) this.#waiting = undefined;
      for (let left: readonly WaitingDecision[] = waiting; left.length > 0; ) left = await this.#writeTogether(left);
    });
    return promise;
  }

  /** Appends the decisions that fit into one append. Returns the others. */
  async #writeTogether(waiting: readonly WaitingDecision[]): Promise<readonly WaitingDecision[]> {
    let decided: Awaited<ReturnType<typeof decideTogether>> = [];
    let events: readonly SessionEvent[] = [];
    let failure: { readonly error: unknown } | undefined;
    try {
      const write = await this.#writeHeld(async (fold) => {
        decided = await decideTogether(this.#scope, this.key, fold, waiting);
        return decided.flatMap((each) => ('drafts' in each ? each.drafts : []));
      }, false);
      events = write.events;
    } catch (error) {
      failure = { error };
    }
    let from = 0;
    for (const [index, { resolve, reject }] of waiting.entries()) {
      const own = decided[index];
      if (own && 'error' in own) reject(own.error);
      else if (failure) reject(failure.error);
      else if (own) {
        resolve(events.slice(from, from + own.drafts.length));
        from += own.drafts.length;
      }
    }
    return failure ? [] : waiting.slice(decided.length);
  }

  #writeHeld(decide: Decide, fact: boolean): Promise<WriteResult> {
    return this.#write({
      read: async (attempt) => ({
        fold: await (attempt === 0 ? this.fold() : this.#scope.folds.head(this.key)),
      }),
      decide: async (fold) => ({ drafts: (await decide(fold)) ?? [], fact }),
      writer: this.#held(),
    });
  }

  #held(): FencedWriter {
    if (!this.#fence) throw new TypeError('a run cannot write before it has claimed the session');
    return { kind: 'run', ...this.#fence, writtenTo: this.#writtenTo };
  }

  async #write(write: SessionWrite): Promise<WriteResult> {
    const written = await writeDecision(this.#scope, this.key, write);
    if (written.appended) {
      this.#writtenTo = written.events.at(-1)!.seq;
      this.onWritten(written.events);
    }
    return written;
  }
}
