import type { SessionKey } from '../ports/store.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import type { SessionFold } from '../session/fold.ts';
import type { LogAccess } from './scope.ts';

/**
 * The newest fold, for the calls beyond `point`. The store finds them by an index, so of a head that cannot be read
 * only the seq is needed.
 */
export const newestFold = async (
  { folds, store }: LogAccess,
  key: SessionKey,
  point: SessionFold,
): Promise<SessionFold> => {
  try {
    return await folds.outline(key);
  } catch (error) {
    if (!isSessionDamage(error)) throw error;
    return { ...point, seq: (await store.head(key))?.seq ?? point.seq };
  }
};
