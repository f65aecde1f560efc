import { PerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import type { AppendOutcome, SessionKey } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { illegalTransition, statusesThatAllow } from '../session/lifecycle.ts';
import { encodeAll, eventsOf, payloadBytes, turnAside } from './execute.ts';
import type { Scope } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

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
  readonly actor: Actor;
  #epoch: number | undefined;

  constructor(scope: Scope, key: SessionKey, actor: Actor) {
    this.#scope = scope;
    this.#key = key;
    this.actor = actor;
  }

  fold(): Promise<SessionFold> {
    return this.#scope.folds.recent(this.#key);
  }

  /** A call is journaled only while the session takes messages; this is also where the session is claimed. */
  async begin(drafts: readonly EventDraft[]): Promise<void> {
    const isClaim = this.#epoch === undefined;
    const epoch = this.#epoch ?? (await this.#currentEpoch());
    const outcome = await this.#append(await this.fold(), drafts, { epoch, raisesEpoch: isClaim, isBound: true });
    if (outcome.outcome === 'appended') this.#epoch = outcome.head.epoch;
    else throw this.#refusal(outcome);
  }

  /**
   * An outcome is a fact and must not be lost: it lands whatever became of the session, as long as nobody else has taken it over, and also
   * when what it changed in the state cannot be committed.
   */
  async end(
    fact: (state: SessionFold) => EventDraft,
    commit: (state: SessionFold) => EventDraft | undefined,
  ): Promise<void> {
    let problem: unknown;
    for (let attempt = 0; attempt < maxDecisions && !problem; attempt++) {
      const state = await (attempt === 0 ? this.fold() : this.#scope.folds.head(this.#key));
      let change: EventDraft | undefined;
      try {
        change = commit(state);
      } catch (error) {
        problem = error;
        break;
      }
      const drafts = [fact(state), ...(change ? [change] : [])];
      const outcome = await this.#append(state, drafts, { epoch: this.#epoch!, onHead: state.seq });
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
    options: { epoch: number; raisesEpoch?: boolean; onHead?: number; isBound?: boolean },
  ): Promise<AppendOutcome> {
    const { store, clock, folds } = this.#scope;
    const events = encodeAll(drafts)!;
    const outcome = await store.append({
      ...this.#key,
      writer: { kind: 'run', epoch: options.epoch },
      at: clock.now(),
      events,
      ...(options.raisesEpoch && { raisesEpoch: true }),
      ...(options.onHead !== undefined && { onHead: options.onHead }),
      ...(options.isBound && { whileStatus: statusesThatAllow('append') }),
    });
    if (outcome.outcome !== 'appended') folds.forget(this.#key);
    else folds.advance(this.#key, state, eventsOf(this.#key, drafts, outcome), payloadBytes(events));
    return outcome;
  }

  #refusal(outcome: Exclude<AppendOutcome, { outcome: 'appended' }>): PerdureError {
    if (outcome.outcome === 'fenced') return takenOver(this.#key, outcome.epoch);
    if (outcome.outcome === 'status') return illegalTransition(outcome.status, 'append');
    if (outcome.outcome === 'missing') return sessionNotFound(this.#key);
    return new PerdureError(
      'CONFLICT',
      `${this.#key.session} kept changing: the call is journaled, what it changed in the state is not`,
      {
        details: { ...this.#key },
      },
    );
  }
}
