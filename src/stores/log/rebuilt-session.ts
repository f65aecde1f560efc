import type { Head, StoredEvent } from '../../core/ports/store.ts';
import { linkProblem } from '../../core/session/events/chain.ts';
import { foldSummary, type SummaryFold, turnMark } from '../../core/session/summary-fold.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { isSummary } from './stored-summary.ts';

/** What the row of a session should say, as far as its own events tell. They are added in order, up to the last there is. */
export class RebuiltSession {
  #summary: SummaryFold;
  #last: StoredEvent | undefined;
  #isChained = true;

  /** How the event should be marked, where it is marked otherwise. */
  add(event: StoredEvent): { readonly opensTurn: boolean } | undefined {
    if (event.body.kind === 'damaged' || (this.#last && linkProblem(this.#last, event))) this.#isChained = false;
    const opensTurn = turnMark(this.#summary, event);
    this.#summary = foldSummary(this.#summary, event);
    this.#last = event;
    return opensTurn === event.opensTurn ? undefined : { opensTurn };
  }

  /** Undefined when it needs an event that cannot be read. */
  get summary(): SessionSummary | undefined {
    return this.#summary && this.#summary !== 'unreadable' && isSummary(this.#summary) ? this.#summary : undefined;
  }

  /** Undefined when the log is broken or ends before the head that the row names: what is missing must not go unnoticed. */
  headFrom(seq: number): Pick<Head, 'seq' | 'hash' | 'at'> | undefined {
    return this.#last && this.#isChained && this.#last.seq >= seq ? this.#last : undefined;
  }
}
