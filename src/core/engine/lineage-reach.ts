import type { SessionId } from '../../schema/ids.ts';
import type { Head, SessionKey } from '../ports/store.ts';
import { keyOf, type LogAccess } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

/** For a session and each of its ancestors: the seq up to which its events belong to the session's sequence. */
export type Reach = ReadonlyMap<string, number>;

export const reachOf = async (scope: LogAccess, { session }: SessionKey): Promise<Reach> => {
  const reach = new Map<string, number>();
  let seq = Number.POSITIVE_INFINITY;
  for (let next: SessionId | undefined = session; next; ) {
    const head: Head | undefined = await scope.store.head(keyOf(scope, next));
    if (!head) throw sessionNotFound(keyOf(scope, next));
    reach.set(next, Math.min(seq, head.seq));
    seq = Math.min(seq, head.parent?.seq ?? 0);
    next = head.parent?.session;
  }
  return reach;
};

/** The seq at which two lineages part. Undefined for sessions of different families. */
export const partingOf = (ours: Reach, theirs: Reach): number | undefined => {
  for (const [session, seq] of theirs) {
    const shared = ours.get(session);
    if (shared !== undefined) return Math.min(shared, seq);
  }
  return undefined;
};
