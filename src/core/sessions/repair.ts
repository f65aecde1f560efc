import type { Damage } from '../../schema/damage.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { HappenedAccess } from '../engine/happened-calls.ts';
import { pointBefore } from '../maintenance/point-before.ts';
import { type QuarantineAccess, quarantine } from '../maintenance/quarantine.ts';
import type { SessionKey } from '../ports/store.ts';
import { forkAt } from './fork.ts';

/** The damage of a session, and the fork that continues it. Both are absent if the log of the session is whole. */
export interface Repaired {
  readonly damage?: Damage | undefined;
  readonly fork?: SessionId | undefined;
}

/** Finds the fork of an earlier repair, so that repeating a repair changes nothing. */
const earlierFork = async (
  { store }: QuarantineAccess,
  key: SessionKey,
  { session, seq }: Damage,
  point: number,
): Promise<SessionId | undefined> =>
  (await store.family(key)).find(
    ({ parent, summary: { lost } }) => parent?.seq === point && lost?.session === session && lost.from === seq,
  )?.session;

/**
 * Quarantines a damaged session, and continues it from its last good event as a fork. The fork says what is lost. A
 * crash in between leaves a quarantined session, and the next repair creates the fork.
 */
export const repairSession = (scope: QuarantineAccess & HappenedAccess, key: SessionKey): Promise<Repaired> =>
  scope.folds.inTurn(key, async () => {
    const damage = await quarantine(scope, key);
    if (!damage) return {};
    const seq = await pointBefore(scope, key, damage);
    const fork = (await earlierFork(scope, key, damage, seq)) ?? (await forkAt(scope, key, { seq, lost: damage }));
    return { damage, fork };
  });
