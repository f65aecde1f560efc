import { PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import { appendDrafts, onTopOf } from '../engine/append-drafts.ts';
import { turnAside } from '../engine/execute.ts';
import type { Scope } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import type { AppendOutcome, SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { illegalTransition, statusesThatAllow } from '../session/lifecycle.ts';
import { endRunningCalls, interruptedCalls } from '../session/runs/settle-calls.ts';

const maxDecisions = 10;

const takenOver = (key: SessionKey, epoch: number): PerdureError =>
  new PerdureError(
    'FENCED',
    `another writer has taken over ${key.session}: stop this loop, or track the session anew`,
    {
      details: { ...key, epoch },
    },
  );

/**
 * Writes a session's journal of tool calls. It holds the epoch from its first entry on; when another claims the session, its entries are
 * refused and no tool is run any more.
 */
export class Journal {
  readonly #scope: Scope;
  readonly #key: SessionKey;
  #epoch: number | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(scope: Scope, key: SessionKey) {
    this.#scope = scope;
    this.#key = key;
  }

  /** A call is journaled only while the session takes messages; the first one claims the session. */
  begin(calledOn: (state: SessionFold) => EventDraft): Promise<void> {
    return this.#inOrder(() => (this.#epoch === undefined ? this.#claim(calledOn) : this.#call(this.#epoch, calledOn)));
  }

  /**
   * An outcome is a fact and must not be lost: it lands whatever became of the session, as long as nobody else has taken it over, and also
   * when what it changed in the state cannot be committed.
   */
  end(fact: (state: SessionFold) => EventDraft, commit: (state: SessionFold) => EventDraft | undefined): Promise<void> {
    return this.#inOrder(() => this.#end(fact, commit));
  }

  /** Entries of calls that run beside each other are written one after another. */
  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work, work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  /** What the one before left under way cannot be told any more: it ends as interrupted, unless it is a run's, which recovers its own. */
  async #claim(calledOn: (state: SessionFold) => EventDraft): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const epoch = await this.#currentEpoch();
      const state = await this.#scope.folds.head(this.#key);
      const left = state.run ? [] : endRunningCalls(state, interruptedCalls, this.#scope.clock.now());
      const called = calledOn(left.length > 0 ? { ...state, runningCalls: {} } : state);
      const outcome = await this.#append(state, [...left, called], {
        epoch,
        raisesEpoch: true,
        isBound: true,
        isOnHead: attempt + 1 < maxDecisions,
      });
      if (outcome.outcome === 'appended') {
        this.#epoch = outcome.head.epoch;
        return;
      }
      if (outcome.outcome !== 'conflict') throw this.#refusal(outcome);
      await turnAside(attempt);
    }
  }

  async #call(epoch: number, calledOn: (state: SessionFold) => EventDraft): Promise<void> {
    const state = await this.#scope.folds.recent(this.#key);
    const outcome = await this.#append(state, [calledOn(state)], { epoch, isBound: true });
    if (outcome.outcome !== 'appended') throw this.#refusal(outcome);
  }

  async #end(
    fact: (state: SessionFold) => EventDraft,
    commit: (state: SessionFold) => EventDraft | undefined,
  ): Promise<void> {
    let problem: unknown;
    for (let attempt = 0; attempt < maxDecisions && !problem; attempt++) {
      const state = await (attempt === 0 ? this.#scope.folds.recent(this.#key) : this.#scope.folds.head(this.#key));
      let change: EventDraft | undefined;
      try {
        change = commit(state);
      } catch (error) {
        problem = error;
        break;
      }
      const drafts = [fact(state), ...(change ? [change] : [])];
      const outcome = await this.#append(state, drafts, { epoch: this.#epoch!, isOnHead: true });
      if (outcome.outcome === 'appended') return;
      if (outcome.outcome !== 'conflict') throw this.#refusal(outcome);
      await turnAside(attempt);
    }
    const state = await this.#scope.folds.head(this.#key);
    const outcome = await this.#append(state, [fact(state)], { epoch: this.#epoch! });
    if (outcome.outcome !== 'appended') throw this.#refusal(outcome);
    throw problem ?? this.#refusal({ outcome: 'conflict', head: state.seq });
  }

  async #currentEpoch(): Promise<number> {
    const head = await this.#scope.store.head(this.#key);
    if (!head) throw sessionNotFound(this.#key);
    return head.epoch;
  }

  async #append(
    state: SessionFold,
    drafts: readonly EventDraft[],
    options: { epoch: number; raisesEpoch?: boolean; isOnHead?: boolean; isBound?: boolean },
  ): Promise<AppendOutcome> {
    const { folds } = this.#scope;
    const written = await appendDrafts(this.#scope, this.#key, drafts, {
      writer: { kind: 'run', epoch: options.epoch },
      ...(options.raisesEpoch && { raisesEpoch: true }),
      ...(options.isOnHead && onTopOf(state)),
      ...(options.isBound && { whileStatus: statusesThatAllow('append') }),
    });
    if ('events' in written) folds.advance(this.#key, state, written);
    else folds.forget(this.#key);
    return written.outcome;
  }

  #refusal(outcome: Exclude<AppendOutcome, { outcome: 'appended' }>): PerdureError {
    if (outcome.outcome === 'fenced') return takenOver(this.#key, outcome.epoch);
    if (outcome.outcome === 'status') return illegalTransition(outcome.status, 'append');
    if (outcome.outcome === 'missing') return sessionNotFound(this.#key);
    return new PerdureError(
      'CONFLICT',
      `${this.#key.session} kept changing: the call is journaled, what it changed in the state is not`,
      { details: { ...this.#key } },
    );
  }
}
