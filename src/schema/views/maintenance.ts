import { z } from 'zod';
import { SessionId } from '../ids.ts';

const Count = z.strictObject({ blobs: z.int(), bytes: z.int() });
const OldWorktree = z.strictObject({ session: SessionId, folder: z.string(), stays: z.string().optional() });

export const CollectionView = z.strictObject({
  named: z.int(),
  young: Count,
  garbage: Count,
  removed: Count,
  worktrees: z.array(OldWorktree),
});
/** The number of events from which the projections were rebuilt. */
export const RebuiltView = z.strictObject({ events: z.int() });
