import type { Damage } from '../../schema/damage.ts';
import { PerdureError } from '../../schema/error.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { liveAtOrBefore } from '../session/live-lineage.ts';

const nothingGood = ({ session }: SessionKey, reason: string): PerdureError =>
  new PerdureError(
    'EVENT_DAMAGED',
    `nothing of ${session} can be continued, because its first event is damaged: ${reason}; restore the store from a backup`,
    { details: { session, seq: 1, reason } },
  );

/**
 * Where a damaged session continues: at its last good event, or at the earlier point to which it was rewound since it
 * was quarantined. Without damage, a quarantined log is whole again, and continues where it was quarantined.
 */
export const pointBefore = async (
  { store, folds }: LogAccess,
  key: SessionKey,
  damage: Damage | undefined,
): Promise<number> => {
  const quarantinedAt = (await store.head(key))?.summary.damaged?.at;
  if (!damage) return (quarantinedAt ?? 1) - 1;
  const point = quarantinedAt ? liveAtOrBefore((await folds.head(key)).live, damage.good) : damage.good;
  if (point > 0) return point;
  throw nothingGood(key, damage.reason);
};
