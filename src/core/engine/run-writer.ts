import { Mutex } from '../../concurrency/mutex.ts';
import type { EventDraft, SessionEvent } from '../../schema/event.ts';
import type { Head, SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import type { WriteAccess } from './scope.ts';
import { readHead, type SessionWrite, type WriteResult, writeDecision } from './session-writer.ts';

/** What to write on this fold; undefined when there is nothing to write any more. */
export type Decide = (fold: SessionFold) => readonly EventDraft[] | undefined;

/**
 * Writes as the run of a session. It holds the epoch from its claim on: when another claims the session, every write of this one is refused
 * and throws FENCED.
 */
export class RunWriter {
  readonly #scope: WriteAccess;
  readonly key: SessionKey;
  #epoch: number | undefined;
  #writtenTo = 0;
  /** Calls that run beside each other write one after another. */
  readonly #writing = new Mutex();
  /** Told of what was written, in order. */
  onWritten: (events: readonly SessionEvent[]) => void = () => undefined;

  constructor(scope: WriteAccess, key: SessionKey) {
    this.#scope = scope;
    this.key = key;
  }

  /** The newest event that it wrote; 0 before. */
  get writtenTo(): number {
    return this.#writtenTo;
  }

  get epoch(): number | undefined {
    return this.#epoch;
  }

  /** Never older than what it wrote itself: a call that has ended would be taken for one that was lost. */
  async fold(): Promise<SessionFold> {
    const fold = await this.#scope.folds.recent(this.key);
    return fold.seq < this.#writtenTo ? this.#scope.folds.head(this.key) : fold;
  }

  /** Fences all others. Decided on the newest head, or on one that was just read, and again when that moves. */
  async claim(decide: Decide, read?: Head): Promise<readonly SessionEvent[] | undefined> {
    const { appended, events } = await this.#write({
      read: (attempt) => readHead(this.#scope, this.key, attempt === 0 ? read : undefined),
      decide: (fold) => ({ drafts: decide(fold) ?? [], takesOver: true, raisesEpoch: true }),
    });
    if (!appended) return undefined;
    this.#epoch = appended.head.epoch;
    return events;
  }

  /** A fact lands at any head. */
  record(...drafts: readonly EventDraft[]): Promise<readonly SessionEvent[]> {
    return this.#writeHeld(() => drafts, true);
  }

  /** A decision lands on the head it was made on, and is made again when that has moved. */
  decide(decide: Decide): Promise<readonly SessionEvent[]> {
    return this.#writeHeld(decide, false);
  }

  #writeHeld(decide: Decide, fact: boolean): Promise<readonly SessionEvent[]> {
    return this.#writing.run(async () => {
      const { events } = await this.#write({
        read: async (attempt) => ({
          fold: await (attempt === 0 ? this.fold() : this.#scope.folds.head(this.key)),
        }),
        decide: (fold) => ({ drafts: decide(fold) ?? [], fact }),
        epoch: this.#held(),
      });
      return events;
    });
  }

  #held(): number {
    if (this.#epoch === undefined) throw new TypeError('a run writes nothing before it has claimed the session');
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
