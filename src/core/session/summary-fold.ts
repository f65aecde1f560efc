import { isPerdureError } from '../../schema/error.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { StoredEvent } from '../ports/store.ts';
import { opensTurn, summarize } from './summary.ts';

/** Undefined before the first event. `unreadable` after an event that the summary needs but that cannot be read. */
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

/** Whether the event opens a turn. Keeps the stored mark if the summary is unreadable. */
export const turnMark = (before: SummaryFold, event: StoredEvent): boolean =>
  before === 'unreadable' ? event.opensTurn : opensTurn(before, event);
