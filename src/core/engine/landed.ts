import type { SessionEvent } from '../../schema/event.ts';
import type { Appended } from '../ports/store.ts';

/** An append that landed, with its events as they are in the log. */
export interface Landed {
  readonly outcome: Appended;
  readonly events: readonly SessionEvent[];
  readonly bytes: number;
}
