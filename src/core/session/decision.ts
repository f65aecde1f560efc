import type { EventDraft } from '../../schema/event.ts';
import type { Command } from './lifecycle.ts';

export interface Decision {
  /** Empty if there is nothing left to do. */
  readonly drafts: readonly EventDraft[];
  /** The command in the lifecycle table that allowed it. */
  readonly command: Command;
  /** A fact is appended at any head. Anything else is appended only on the head it was decided on. */
  readonly fact?: boolean;
  readonly raisesEpoch?: boolean;
  /**
   * Set if the drafts end calls or runs, which only a run writer may do. The append then takes over as the run writer.
   */
  readonly takesOver?: boolean;
}
