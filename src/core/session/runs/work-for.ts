import type { SessionFold } from '../fold.ts';
import { openPreparation } from './next-step.ts';
import { type ActiveRun, forsakenChildren, type QueuedInput, waitsForChildren } from './run-fold.ts';
import { isUnsettled } from './settlement.ts';

/** The work in a session, according to its log. */
export type WorkFor =
  | { readonly do: 'begin'; readonly input: QueuedInput }
  /** The previous worker has died, or was requested to stop. */
  | { readonly do: 'take-over'; readonly run: ActiveRun }
  /** The wait or the pause is over. */
  | { readonly do: 'resume'; readonly run: ActiveRun }
  /** A stop is not settled, because the process that made it died, or is still at it. */
  | { readonly do: 'settle' }
  /**
   * Child sessions are still open although their calls have ended, because the worker that ended the calls died before
   * it ended the children.
   */
  | { readonly do: 'end-children' }
  /** There is no work until `dueAt`, unless another event is appended. */
  | { readonly do: 'nothing'; readonly dueAt?: number | undefined };

const nothing: WorkFor = { do: 'nothing' };

const earliest = (times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
};

const whenWaiting = (fold: SessionFold, run: ActiveRun, now: number): WorkFor => {
  const approvals = Object.values(fold.approvals).filter(({ settled }) => !settled);
  const goesOn: WorkFor = { do: 'resume', run };
  if (run.waitsIn) return waitsForChildren(fold, fold.runningCalls) ? nothing : goesOn;
  switch (run.waitingFor) {
    case 'approval':
    case 'question': {
      const preparation = openPreparation(fold, now);
      // Answers to calls must wait, because no call begins before this one is settled.
      if (preparation) return { do: 'nothing', dueAt: preparation.expiresAt };
      const isAnswered =
        Object.values(fold.approvals).some(({ settled }) => settled) ||
        Object.values(fold.questions).some(({ answer }) => answer !== undefined);
      const dueAt = earliest(approvals.map(({ expiresAt }) => expiresAt));
      return isAnswered || (dueAt !== undefined && dueAt <= now) ? goesOn : { do: 'nothing', dueAt };
    }
    case 'budget':
      return nothing;
    case 'quota':
      return (run.waitsUntil ?? Number.POSITIVE_INFINITY) <= now ? goesOn : { do: 'nothing', dueAt: run.waitsUntil };
    case 'model':
      return (run.waitsUntil ?? 0) <= now ? goesOn : { do: 'nothing', dueAt: run.waitsUntil };
    default:
      return goesOn;
  }
};

/** The oldest input that is due. */
const nextInput = (queue: readonly QueuedInput[], now: number): WorkFor => {
  const input = queue.find(({ notBefore = 0 }) => notBefore <= now);
  return input ? { do: 'begin', input } : { do: 'nothing', dueAt: earliest(queue.map(({ notBefore }) => notBefore)) };
};

/** Returns the work in a session. A pure function that reads only the fold. */
export const workFor = (fold: SessionFold, now: number): WorkFor => {
  const { status, holder, run, queue } = fold;
  if (isUnsettled(fold)) return { do: 'settle' };
  if (!run && forsakenChildren(fold).length > 0) return { do: 'end-children' };
  if (holder !== 'agent' || (status !== 'active' && status !== 'pausing')) return nothing;
  if (!run) return status === 'active' ? nextInput(queue, now) : nothing;
  if (run.waitingFor) return whenWaiting(fold, run, now);
  return run.activeSince === undefined ? { do: 'resume', run } : { do: 'take-over', run };
};
