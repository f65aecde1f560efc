import type { EventDraft } from '../../schema/event.ts';
import type { Command } from './lifecycle.ts';

export interface Decision {
  /** The events to append. Empty if there is nothing to do. */
  readonly drafts: readonly EventDraft[];
  /** The command in the lifecycle table that allows this decision. */
  readonly command: Command;
  /**
   * Whether this is a fact, which is appended at any head. Any other decision is appended only on the head that it was
   * decided on.
   */
  readonly fact?: boolean;
  readonly raisesEpoch?: boolean;
  /**
   * Set if the drafts end calls or runs, which only a run writer may do. The append then takes over as the run writer.
   */
  readonly takesOver?: boolean;
}
