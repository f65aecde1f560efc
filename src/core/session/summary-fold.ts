import { isPerdureError } from '../../schema/error.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { StoredEvent } from '../ports/store.ts';
import { opensTurn, summarize } from './summary.ts';

/**
 * The summary while a log is folded. Undefined before the first event. `unreadable` after an event that the summary
 * needs but that cannot be read.
 */
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

/** Whether the event opens a turn. If the summary is unreadable, returns the mark that is stored with the event. */
export const turnMark = (before: SummaryFold, event: StoredEvent): boolean =>
  before === 'unreadable' ? event.opensTurn : opensTurn(before, event);
