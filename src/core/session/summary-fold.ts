import type { StoredEvent } from '../core/ports/store.ts';
import { summarize } from '../core/session/summary.ts';
import { isPerdureError } from '../schema/error.ts';
import type { SessionSummary } from '../schema/summary.ts';

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
