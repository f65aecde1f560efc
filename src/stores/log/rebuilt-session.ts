import type { Account } from '../../core/ports/ledger.ts';
import { withOwnership } from '../../core/ports/ownership.ts';
import type { Head, StoredEvent } from '../../core/ports/store.ts';
import { accountAfter, atRest, countedFor } from '../../core/session/account.ts';
import { linkProblem } from '../../core/session/events/chain.ts';
import { foldSummary, type SummaryFold, turnMark } from '../../core/session/summary-fold.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { isSummary } from './stored-summary.ts';

/** Rebuilds the row of a session from its own events. Add the events in order, up to the last one. */
export class RebuiltSession {
  readonly #importedTo: number;
  #summary: SummaryFold;
  #account: Account | undefined;
  #last: StoredEvent | undefined;
  #isChained = true;
  readonly #kept: SessionSummary | undefined;

  /**
   * Events up to the seq `importedTo` came from an import. `kept` is the stored summary. An imported session keeps the
   * owner in it, because its log names members of another store.
   */
  constructor(importedTo: number, kept: SessionSummary | undefined) {
    this.#importedTo = importedTo;
    this.#kept = importedTo > 0 && kept?.visibility ? kept : undefined;
  }

  /** Adds the next event. Returns the correct `opensTurn` mark if the event has a wrong one. */
  add(event: StoredEvent): { readonly opensTurn: boolean } | undefined {
    if (event.body.kind === 'damaged' || (this.#last && linkProblem(this.#last, event))) this.#isChained = false;
    const opensTurn = turnMark(this.#summary, event);
    const before = this.#summary === 'unreadable' ? undefined : this.#summary;
    const account = accountAfter(this.#account, before, event);
    this.#account = event.seq === this.#importedTo ? atRest(account) : account;
    this.#summary = foldSummary(this.#summary, event);
    this.#last = event;
    return opensTurn === event.opensTurn ? undefined : { opensTurn };
  }

  /** The summary and account of the added events; undefined if they need an event that cannot be read. */
  get state(): Pick<Head, 'summary' | 'account'> | undefined {
    const summary = this.#summary;
    if (!summary || summary === 'unreadable' || !isSummary(summary)) return undefined;
    if (!this.#kept) return { summary, account: this.#account };
    return { summary: withOwnership(summary, this.#kept), account: countedFor(this.#account, this.#kept) };
  }

  /**
   * The head according to the added events. Undefined if the log is broken or ends before `seq`, the head in the row,
   * because a rebuild must not hide missing events.
   */
  headFrom(seq: number): Pick<Head, 'seq' | 'hash' | 'at'> | undefined {
    return this.#last && this.#isChained && this.#last.seq >= seq ? this.#last : undefined;
  }
}
