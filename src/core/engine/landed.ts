import type { SessionEvent } from '../../schema/event.ts';
import type { Appended } from '../ports/store.ts';

/** What landed, with the events as they stand in the log. */
export interface Landed {
  readonly outcome: Appended;
  readonly events: readonly SessionEvent[];
  readonly bytes: number;
}
