import { registryWorkspace } from '../../schema/ids.ts';
import { writeOf } from '../engine/change-records.ts';
import type { Records } from '../ports/records.ts';
import type { Timekeeper } from '../ports/timekeeper.ts';

/** The highest time is stored this often at most, so a key may live that much longer after the clock went back. */
const storeEveryMs = 60_000;

const kind = 'clock';
const id = 'highest';

export interface SteadyClock extends Timekeeper {
  /** Takes the store's highest time into account, and raises it. A failure to store it changes nothing else. */
  learn(): Promise<void>;
}

/**
 * A clock for expiry, which never goes back behind the highest time that any process on the store has learned. While the
 * given clock is behind, the time goes on from there, so that new keys last as long as they should.
 */
export const steadyClock = (records: Records, clock: Timekeeper): SteadyClock => {
  let highest = 0;
  let since = clock.elapsed();
  let nextAt = Number.NEGATIVE_INFINITY;
  const raiseTo = (time: number): void => {
    if (time < highest) return;
    highest = time;
    since = clock.elapsed();
  };
  const now = (): number => {
    raiseTo(clock.now());
    return Math.trunc(highest + clock.elapsed() - since);
  };
  const share = async (): Promise<void> => {
    const found = await records.record(registryWorkspace, kind, id);
    const stored = (found?.body as { readonly at: number } | undefined)?.at ?? 0;
    raiseTo(stored);
    nextAt = now() + storeEveryMs;
    if (stored + storeEveryMs > now()) return;
    const write = writeOf(kind, { id, at: now() }, found?.version ?? 0);
    await records.writeRecords(registryWorkspace, [write]).catch(() => false);
  };
  let sharing: Promise<void> | undefined;
  return {
    ...clock,
    now,
    learn: async () => {
      if (now() < nextAt) return;
      sharing ??= share().finally(() => {
        sharing = undefined;
      });
      await sharing;
    },
  };
};
