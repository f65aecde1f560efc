import { callsForWork } from '../core/ports/queue.ts';
import type { StoredEvent } from '../core/ports/store.ts';

/** Of the newest event that a worker has to look at; undefined when none of them calls for work. */
export const workSeqOf = (events: readonly Pick<StoredEvent, 'type' | 'seq'>[]): number | undefined =>
  events.findLast(({ type }) => callsForWork.has(type))?.seq;
