import type { SessionId } from '../../schema/ids.ts';
import { keyOf, type LogAccess } from '../engine/scope.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import { isLive, type LiveRange } from '../session/live-lineage.ts';

interface Place {
  readonly session: SessionId;
  readonly seq: number;
}

const once = <Key, Value>(make: (key: Key) => Value): ((key: Key) => Value) => {
  const made = new Map<Key, Value>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
};

/**
 * Returns the live ranges of a session. Returns undefined if its log is damaged. Then all records of that session are
 * treated as live, and other sessions can still be searched.
 */
const liveRanges = async (scope: LogAccess, session: SessionId): Promise<readonly LiveRange[] | undefined> => {
  try {
    return (await scope.folds.head(keyOf(scope, session))).live;
  } catch (error) {
    if (isSessionDamage(error)) return undefined;
    throw error;
  }
};

/**
 * Returns a function that reports whether a record is live, in its session or in a fork of it. A record that is not
 * live was left behind by a rewind.
 */
export const liveRecords = (scope: LogAccess): ((record: Place) => Promise<boolean>) => {
  const rangesOf = once((session: SessionId) => liveRanges(scope, session));
  const forksBySource = once(async (session: SessionId) =>
    Map.groupBy(await scope.store.family(keyOf(scope, session)), ({ parent }) => parent?.session),
  );
  const isLiveIn = async (session: SessionId, seq: number): Promise<boolean> => {
    const ranges = await rangesOf(session);
    return !ranges || isLive(ranges, seq);
  };
  const isUntouched = once(async (session: SessionId) => {
    try {
      return !(await scope.store.head(keyOf(scope, session)))?.summary.rewound;
    } catch (error) {
      if (isSessionDamage(error)) return false;
      throw error;
    }
  });
  return async ({ session, seq }) => {
    if ((await isUntouched(session)) || (await isLiveIn(session, seq))) return true;
    const forks = await forksBySource(session);
    const heirs = new Set([session]);
    for (const heir of heirs) {
      for (const { session: child, parent } of forks.get(heir) ?? []) {
        if (parent!.seq < seq) continue;
        if (await isLiveIn(child, seq)) return true;
        heirs.add(child);
      }
    }
    return false;
  };
};
