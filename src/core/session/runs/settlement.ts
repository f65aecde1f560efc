import type { EventDraft } from '../../../schema/event.ts';
import { type Actor, systemActor } from '../../../schema/ids.ts';
import type { SessionFold } from '../fold.ts';
import { endDrafts } from './end-run.ts';
import { abandoned, type PartialAnswer } from './partial-answer.ts';
import type { ActiveRun } from './run-fold.ts';

type Stoppable = Pick<SessionFold, 'run' | 'queue' | 'status'>;

/** Whether a pause was requested that no worker will carry out, because no run is at work. */
const isPauseDue = ({ status, run }: Stoppable): boolean =>
  status === 'pausing' && (!run || run.waitingFor !== undefined || run.stop !== undefined);

/** Whether a stop of the run in progress, or of the whole session, is not settled. */
export const concernsRun = (fold: Stoppable): boolean => fold.run?.stop !== undefined || isPauseDue(fold);

/** Whether a stop is not settled. Its writer settles it at once, and after a crash the next claim or command does. */
export const isUnsettled = (fold: Stoppable): boolean =>
  concernsRun(fold) || fold.queue.some(({ cancelledBy }) => cancelledBy);

interface Settler {
  readonly now: number;
  /** What the log has of an answer that is not complete. */
  readonly partial: PartialAnswer | undefined;
}

const stoppedRun = (fold: SessionFold, run: ActiveRun, { now, partial }: Settler): readonly EventDraft[] => {
  if (!run.stop) return [];
  const { how, by: actor, reason } = run.stop;
  if (how === 'cancel') return endDrafts(fold, { status: 'cancelled' }, { run: run.id, actor, now, partial });
  const common = { actor, turn: fold.turn, run: run.id };
  return [
    ...(run.asked ? [abandoned(run.asked.message, 'stopped', partial, common)] : []),
    ...(how === 'handoff' ? [{ type: 'run.waiting', payload: { for: 'human', reason }, ...common } as const] : []),
  ];
};

/** Returns the events that settle all stops. Each names the party that stopped the run, whichever process writes it. */
export const settlement = (fold: SessionFold, settler: Settler): readonly EventDraft[] => {
  const { run, queue, turn } = fold;
  const cancelled = (id: ActiveRun['id'], actor: Actor): EventDraft => ({
    type: 'run.ended',
    payload: { status: 'cancelled' },
    actor,
    turn,
    run: id,
  });
  const isCancel = run?.stop?.how === 'cancel'; // its end pauses the session too
  return [
    ...queue.flatMap(({ run: id, cancelledBy }) => (cancelledBy ? [cancelled(id, cancelledBy)] : [])),
    ...(run ? stoppedRun(fold, run, settler) : []),
    ...(isPauseDue(fold) && !isCancel
      ? [{ type: 'session.paused', payload: {}, actor: run?.stop?.by ?? systemActor, turn, run: run?.id } as const]
      : []),
  ];
};
