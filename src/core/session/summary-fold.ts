import { isPerdureError } from '../../schema/error.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { StoredEvent } from '../ports/store.ts';
import { opensTurn, summarize } from './summary.ts';

/** Undefined before the first event; `unreadable` after one that the summary needs and that cannot be read. */
export type SummaryFold = SessionSummary | 'unreadable' | undefined;

export const foldSummary = (before: SummaryFold, event: StoredEvent): SummaryFold => {
  if (before === 'unreadable') return before;
  try {
    return summarize(before, event);
  } catch (error) {
    if (isPerdureError(error)) return 'unreadable';
    throw error;
  }
};

/** How the event should be marked; as it is, where that cannot be told any more. */
export const turnMark = (before: SummaryFold, event: StoredEvent): boolean =>
  before === 'unreadable' ? event.opensTurn : opensTurn(before, event);
