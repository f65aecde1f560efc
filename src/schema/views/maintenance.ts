import { z } from 'zod';
import { Damage } from '../damage.ts';
import { SessionId } from '../ids.ts';
import { SummaryView } from './session.ts';

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

export const DamageView = Damage.meta({
  id: 'Damage',
  description: 'The first damaged event of a session, and everything that is lost because of it.',
});
/** The damage of a session. Absent if its log is whole. */
export const MaybeDamageView = z.strictObject({ damage: DamageView.optional() });
/** The damage of a session, and the fork that continues it. */
export const RepairView = MaybeDamageView.extend({ fork: SummaryView.optional() });
