import type { LedgerRow } from '../../core/ports/ledger.ts';
import type { Head } from '../../core/ports/store.ts';
import { type CountedBytes, LedgerChanges } from './meter.ts';

/** The charges of a member on a day. Charges without a member have an empty one. */
export interface DayUsage {
  readonly member: string;
  readonly day: string;
  readonly tokens: number;
  readonly micros: number;
}

/** Counts the rows of a ledger anew: from the charges, the blobs, and what each session counts for now. */
export class LedgerCount {
  readonly #changes = new LedgerChanges();

  addSession(state: Pick<Head, 'summary' | 'account'> | undefined): void {
    if (state) this.#changes.addStanding(state);
  }

  addUsage({ member, day, ...amounts }: DayUsage): void {
    this.#changes.addUsage(member, Date.parse(day), amounts);
  }

  /** Adds the size of blobs that count. */
  addBlobs({ member, bytes }: CountedBytes): void {
    this.#changes.add(member, 'bytes', '', bytes);
  }

  rows(): readonly LedgerRow[] {
    return this.#changes.rows();
  }
}
