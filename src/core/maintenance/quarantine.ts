import type { Damage } from '../../schema/damage.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import { appendDrafts } from '../engine/append-drafts.ts';
import { appendRefusal } from '../engine/append-refusal.ts';
import { retryConflicts } from '../engine/conflict-retry.ts';
import type { FilesAccess, WriteAccess } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import type { Head, SessionKey } from '../ports/store.ts';
import { describeDamage } from './describe-damage.ts';
import { findDamage } from './find-damage.ts';

export type QuarantineAccess = WriteAccess & FilesAccess;

/** The event that quarantines the session. No worker is left to finish a pause, so it is finished here. */
const quarantineDraft = async (scope: QuarantineAccess, head: Head, damage: Damage): Promise<EventDraft> => {
  const good = damage.good > 0 ? await scope.folds.at(head, damage.good) : undefined;
  const { status, lastTurn } = head.summary;
  return {
    type: 'session.quarantined',
    payload: {
      seq: damage.seq,
      reason: damage.reason,
      status: status === 'pausing' ? 'paused' : status,
      lastTurn,
      messages: good?.messages ?? 0,
      agent: good?.agent ?? null,
    },
    actor: scope.actor,
    turn: good?.turn ?? 0,
  };
};

/**
 * Quarantines a damaged session, and returns its damage. Returns undefined if its log is whole. Only appends an event,
 * which is chained on the stored hash of the head, so the damaged rows stay as they are.
 */
export const quarantine = (scope: QuarantineAccess, key: SessionKey): Promise<Damage | undefined> =>
  retryConflicts<Damage | undefined>(scope, key, async () => {
    const head = await scope.store.head(key);
    if (!head) throw sessionNotFound(key);
    const bad = await findDamage(scope, key, head);
    const damage = bad && (await describeDamage(scope, key, head, bad));
    const known = head.summary.damaged?.seq ?? Number.POSITIVE_INFINITY;
    if (!damage || known <= damage.seq) return { done: damage };
    const written = await appendDrafts(scope, key, [await quarantineDraft(scope, head, damage)], {
      writer: { kind: 'outside' },
      onHead: head.seq,
      onHash: Buffer.from(head.hash).toString('hex'),
      raisesEpoch: true,
      whileDamaged: true,
    });
    scope.folds.forget(key);
    if ('events' in written) return { done: damage };
    const conflict = appendRefusal(key, written.outcome);
    if (written.outcome.outcome !== 'conflict') throw conflict;
    return { conflict };
  });

/**
 * Does work that a damaged session accepts. If the session's newest events cannot be read, it is quarantined first,
 * and the work is done from its last good event. `onDamage` receives the error of the damaged event.
 */
export const despiteDamage = async <T>(
  scope: QuarantineAccess,
  key: SessionKey,
  work: () => Promise<T>,
  onDamage: (error: unknown) => void = () => undefined,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!isPerdureError(error, 'EVENT_DAMAGED') || !(await quarantine(scope, key))) throw error;
    onDamage(error);
    return work();
  }
};
