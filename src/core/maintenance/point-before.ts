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
 * was quarantined.
 */
export const pointBefore = async (
  { store, folds }: LogAccess,
  key: SessionKey,
  damage: Damage | undefined,
): Promise<number> => {
  const isQuarantined = (await store.head(key))?.summary.damaged !== undefined;
  const { live, quarantine } = isQuarantined ? await folds.head(key) : { live: undefined, quarantine: undefined };
  const good = Math.min(damage?.good ?? Number.POSITIVE_INFINITY, (quarantine?.seq ?? Number.POSITIVE_INFINITY) - 1);
  const point = live ? liveAtOrBefore(live, good) : good;
  if (point > 0) return point;
  throw nothingGood(key, damage?.reason ?? quarantine?.reason ?? 'it cannot be read');
};
