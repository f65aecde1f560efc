import { PerdureError } from '../../schema/error.ts';
import type { EventDraft, SessionEvent } from '../../schema/event.ts';
import type { AppendOutcome, Head, SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { appendDrafts, onTopOf } from './append-drafts.ts';
import type { Scope } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';
import { untilItLands } from './until-it-lands.ts';

export const takenOver = (key: SessionKey, epoch: number): PerdureError =>
  new PerdureError('FENCED', `another writer has taken over ${key.session}: this one stops`, {
    details: { ...key, epoch },
  });

/** What to write on this fold; undefined when there is nothing to write any more. */
export type Decide = (fold: SessionFold) => readonly EventDraft[] | undefined;

/**
 * Writes as the run of a session. It holds the epoch from its claim on: when another claims the session, every write of this one is refused
 * and throws FENCED.
 */
export class RunWriter {
  readonly #scope: Scope;
  readonly key: SessionKey;
  #epoch: number | undefined;
  #writtenTo = 0;
  #writing: Promise<unknown> = Promise.resolve();
  /** Told of what was written, in order. */
  onWritten: (events: readonly SessionEvent[]) => void = () => undefined;

  constructor(scope: Scope, key: SessionKey) {
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
  claim(decide: Decide, read?: Head): Promise<readonly SessionEvent[] | undefined> {
    return untilItLands(this.key, async (before) => {
      const head = (before === 0 && read) || (await this.#scope.store.head(this.key));
      if (!head) throw sessionNotFound(this.key);
      const fold = await this.#scope.folds.atHead(head);
      const drafts = decide(fold);
      if (!drafts) return { as: undefined };
      const asked = { epoch: head.epoch, isOnHead: true, claims: true };
      const { outcome, events } = await this.#append(fold, drafts, asked);
      if (outcome.outcome === 'conflict' || outcome.outcome === 'fenced') return undefined;
      if (outcome.outcome !== 'appended') throw this.#refusal(outcome);
      this.#epoch = outcome.head.epoch;
      return { as: events };
    });
  }

  /** A fact lands at any head. */
  record(...drafts: readonly EventDraft[]): Promise<readonly SessionEvent[]> {
    return this.#inOrder(async () => {
      const { outcome, events } = await this.#append(await this.fold(), drafts, { epoch: this.#held() });
      if (outcome.outcome !== 'appended') throw this.#refusal(outcome);
      return events;
    });
  }

  /** A decision lands on the head it was made on, and is made again when that has moved. */
  decide(decide: Decide): Promise<readonly SessionEvent[]> {
    return this.#inOrder(() => this.#decide(decide));
  }

  #decide(decide: Decide): Promise<readonly SessionEvent[]> {
    return untilItLands(this.key, async (before) => {
      const fold = await (before === 0 ? this.fold() : this.#scope.folds.head(this.key));
      const drafts = decide(fold);
      if (!drafts || drafts.length === 0) return { as: [] };
      const { outcome, events } = await this.#append(fold, drafts, { epoch: this.#held(), isOnHead: true });
      if (outcome.outcome === 'conflict') return undefined;
      if (outcome.outcome !== 'appended') throw this.#refusal(outcome);
      return { as: events };
    });
  }

  /** Calls that run beside each other write one after another. */
  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#writing.then(work, work);
    this.#writing = mine.catch(() => undefined);
    return mine;
  }

  #held(): number {
    if (this.#epoch === undefined) throw new TypeError('a run writes nothing before it has claimed the session');
    return this.#epoch;
  }

  async #append(
    fold: SessionFold,
    drafts: readonly EventDraft[],
    { epoch, isOnHead, claims }: { epoch: number; isOnHead?: boolean; claims?: boolean },
  ): Promise<{ outcome: AppendOutcome; events: readonly SessionEvent[] }> {
    const { folds } = this.#scope;
    const written = await appendDrafts(this.#scope, this.key, drafts, {
      writer: { kind: 'run', epoch },
      ...(isOnHead && onTopOf(fold)),
      ...(claims && { raisesEpoch: true }),
    });
    if (!('events' in written)) {
      folds.forget(this.key);
      return { outcome: written.outcome, events: [] };
    }
    const { outcome, events } = written;
    this.#writtenTo = events.at(-1)!.seq;
    folds.advance(this.key, fold, written);
    this.onWritten(events);
    return { outcome, events };
  }

  #refusal(outcome: Exclude<AppendOutcome, { outcome: 'appended' }>): PerdureError {
    if (outcome.outcome === 'fenced') return takenOver(this.key, outcome.epoch);
    if (outcome.outcome === 'missing') return sessionNotFound(this.key);
    return new PerdureError('CONFLICT', `${this.key.session} kept changing: try again when it is quieter`, {
      details: { ...this.key, outcome: outcome.outcome },
    });
  }
}
