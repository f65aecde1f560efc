import type { Head, StoredEvent } from '../../core/ports/store.ts';
import { linkProblem } from '../../core/session/events/chain.ts';
import { foldSummary, type SummaryFold, turnMark } from '../../core/session/summary-fold.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { isSummary } from './stored-summary.ts';

/** Rebuilds the row of a session from its own events. Add the events in order, up to the last one. */
export class RebuiltSession {
  #summary: SummaryFold;
  #last: StoredEvent | undefined;
  #isChained = true;

  /** Adds the next event. Returns the correct `opensTurn` mark if the event has a wrong one. */
  add(event: StoredEvent): { readonly opensTurn: boolean } | undefined {
    if (event.body.kind === 'damaged' || (this.#last && linkProblem(this.#last, event))) this.#isChained = false;
    const opensTurn = turnMark(this.#summary, event);
    this.#summary = foldSummary(this.#summary, event);
    this.#last = event;
    return opensTurn === event.opensTurn ? undefined : { opensTurn };
  }

  /** The summary of the added events; undefined if it needs an event that cannot be read. */
  get summary(): SessionSummary | undefined {
    return this.#summary && this.#summary !== 'unreadable' && isSummary(this.#summary) ? this.#summary : undefined;
  }

  /**
   * The head according to the added events. Undefined if the log is broken or ends before `seq`, the head in the row,
   * because a rebuild must not hide missing events.
   */
  headFrom(seq: number): Pick<Head, 'seq' | 'hash' | 'at'> | undefined {
    return this.#last && this.#isChained && this.#last.seq >= seq ? this.#last : undefined;
  }
}
