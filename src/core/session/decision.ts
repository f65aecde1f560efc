import type { EventDraft } from '../../schema/event.ts';
import type { Command } from './lifecycle.ts';

export interface Decision {
  /** None when the command is already fulfilled. */
  readonly drafts: readonly EventDraft[];
  /** The row of the lifecycle table that allowed it. */
  readonly command: Command;
  /** Facts land at any head; everything else only on the head it was decided on. */
  readonly fact?: boolean;
  readonly raisesEpoch?: boolean;
  /** It tells how calls or runs ended, which is for the run writer alone: it is written as one that has taken over. */
  readonly takesOver?: boolean;
}
