import { Mutex } from '../../concurrency/mutex.ts';
import type { EventDraft, SessionEvent } from '../../schema/event.ts';
import type { Head, SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import type { WriteAccess } from './scope.ts';
import { readHead, type SessionWrite, type WriteResult, writeDecision } from './session-writer.ts';

/** Decides what to write on this fold. Returns undefined when nothing is left to write. */
export type Decide = (
  fold: SessionFold,
) => readonly EventDraft[] | undefined | Promise<readonly EventDraft[] | undefined>;

/**
 * Writes to the log as the run of a session. It holds the epoch from its claim on. Once another writer claims the
 * session, every write throws FENCED.
 */
export class RunWriter {
  readonly #scope: WriteAccess;
  readonly key: SessionKey;
  #epoch: number | undefined;
  #writtenTo = 0;
  /** Parallel calls write one after another. */
  readonly #writing = new Mutex();
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

  get epoch(): number | undefined {
    return this.#epoch;
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
    this.#epoch = appended.head.epoch;
    return events;
  }

  /** Appends a fact, which is accepted at any head. */
  record(...drafts: readonly EventDraft[]): Promise<readonly SessionEvent[]> {
    return this.#writeHeld(() => drafts, true);
  }

  /** Appends a decision on the head that it was decided on. Decides again if the head has moved. */
  decide(decide: Decide): Promise<readonly SessionEvent[]> {
    return this.#writeHeld(decide, false);
  }

  #writeHeld(decide: Decide, fact: boolean): Promise<readonly SessionEvent[]> {
    return this.#writing.run(async () => {
      const { events } = await this.#write({
        read: async (attempt) => ({
          fold: await (attempt === 0 ? this.fold() : this.#scope.folds.head(this.key)),
        }),
        decide: async (fold) => ({ drafts: (await decide(fold)) ?? [], fact }),
        epoch: this.#held(),
      });
      return events;
    });
  }

  #held(): number {
    if (this.#epoch === undefined) throw new TypeError('a run cannot write before it has claimed the session');
    return this.#epoch;
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
