import type { SessionFold } from '../fold.ts';
import { type ActiveRun, forsakenChildren, type QueuedInput, waitsForChildren } from './run-fold.ts';

/** What a worker has to do in a session, as its log stands. */
export type WorkFor =
  | { readonly do: 'begin'; readonly input: QueuedInput }
  /** The one who was at work is gone, or was told to stop. */
  | { readonly do: 'take-over'; readonly run: ActiveRun }
  /** What it waited for has come, or the pause is over. */
  | { readonly do: 'resume'; readonly run: ActiveRun }
  /** Some work on for calls that are over: whoever ended the calls did not come to end them. */
  | { readonly do: 'end-children' }
  /** Nothing, before that time unless something happens. */
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
      const isAnswered =
        Object.values(fold.approvals).some(({ settled }) => settled) ||
        Object.values(fold.questions).some(({ answer }) => answer !== undefined);
      const dueAt = earliest(approvals.map(({ expiresAt }) => expiresAt));
      return isAnswered || (dueAt !== undefined && dueAt <= now) ? goesOn : { do: 'nothing', dueAt };
    }
    case 'budget':
      return nothing;
    case 'model':
      return (run.waitsUntil ?? 0) <= now ? goesOn : { do: 'nothing', dueAt: run.waitsUntil };
    default:
      return goesOn;
  }
};

/** In their order, but for those whose time has not come. */
const nextInput = (queue: readonly QueuedInput[], now: number): WorkFor => {
  const input = queue.find(({ notBefore = 0 }) => notBefore <= now);
  return input ? { do: 'begin', input } : { do: 'nothing', dueAt: earliest(queue.map(({ notBefore }) => notBefore)) };
};

/** Pure: reads nothing but the fold. */
export const workFor = (fold: SessionFold, now: number): WorkFor => {
  const { status, holder, run, queue } = fold;
  if (!run && forsakenChildren(fold).length > 0) return { do: 'end-children' };
  if (holder !== 'agent' || (status !== 'active' && status !== 'pausing')) return nothing;
  if (!run) return status === 'active' ? nextInput(queue, now) : nothing;
  // It came to wait while it was to pause: whoever takes it on pauses it.
  if (run.waitingFor) return status === 'pausing' ? { do: 'resume', run } : whenWaiting(fold, run, now);
  return run.activeSince === undefined ? { do: 'resume', run } : { do: 'take-over', run };
};
