import type { PayloadOf } from '../../../schema/event.ts';
import { shorten } from '../context/clip.ts';
import type { SessionFold } from '../fold.ts';
import { reportDue } from './handoff-report.ts';
import { type ApprovalState, forsakenChildren, type QueuedInput } from './run-fold.ts';

/**
 * The next step of a run. Every step is journaled before it begins, so that after a crash the same function finds the
 * step again.
 */
export type NextStep =
  /** End the child sessions whose calls have ended. */
  | { readonly do: 'end-children' }
  | { readonly do: 'pause' }
  /** Recover calls whose worker died. */
  | { readonly do: 'recover'; readonly calls: readonly string[] }
  | { readonly do: 'call'; readonly calls: readonly string[] }
  | { readonly do: 'wait'; readonly waiting: PayloadOf<'run.waiting'> }
  | { readonly do: 'steer'; readonly inputs: readonly QueuedInput[] }
  /** Report to the model what people did while they held the session. */
  | { readonly do: 'report' }
  | { readonly do: 'ask' }
  | { readonly do: 'finish' };

/** The newest approval of a call. */
export const approvalOf = (fold: SessionFold, callId: string): ApprovalState | undefined =>
  Object.values(fold.approvals).findLast((each) => each.callId === callId && !each.prepares);

const isOpen = ({ settled, expiresAt }: ApprovalState, now: number): boolean =>
  !settled && !(expiresAt !== undefined && expiresAt <= now);

/** The open approval of the agent's `prepare` command. No call begins before it is settled. */
export const openPreparation = (fold: SessionFold, now: number): ApprovalState | undefined =>
  Object.values(fold.approvals).find((each) => each.prepares && isOpen(each, now));

type Pending = (callId: string) => 'approval' | 'question' | undefined;

/** Returns a function that says what a call waits for. The approvals are searched once, however many calls there are. */
const pendingCalls = (fold: SessionFold, now: number): Pending => {
  const preparation = openPreparation(fold, now);
  const newest = new Map(
    Object.values(fold.approvals).flatMap((each) => (each.prepares ? [] : [[each.callId, each] as const])),
  );
  return (callId) => {
    const approval = newest.get(callId);
    if (preparation || (approval && isOpen(approval, now))) return 'approval';
    const question = fold.questions[callId];
    return question && question.answer === undefined ? 'question' : undefined;
  };
};

const maxReasonChars = 2000;

/** What the run waits for, in words: the first open approval or question, and how many more there are. */
const awaited = (fold: SessionFold, open: readonly string[], now: number): string | undefined => {
  const calls = open.flatMap((callId) => approvalOf(fold, callId)?.summary ?? fold.questions[callId]?.question ?? []);
  const asks = [...(openPreparation(fold, now) ? [openPreparation(fold, now)!.summary] : []), ...calls];
  const more = asks.length > 1 ? ` (and ${asks.length - 1} more)` : '';
  return asks[0] === undefined ? undefined : `${shorten(asks[0], maxReasonChars - more.length)}${more}`;
};

/**
 * Returns the next step. A pure function that reads only the fold. Must be called while this worker has no call in
 * flight.
 */
export const nextStep = (fold: SessionFold, now: number): NextStep => {
  if (forsakenChildren(fold).length > 0) return { do: 'end-children' };
  if (fold.status === 'pausing') return { do: 'pause' };
  const running = Object.keys(fold.runningCalls);
  const orphans = running.filter((callId) => !fold.children[callId]?.waiting);
  if (orphans.length > 0) return { do: 'recover', calls: orphans };
  const child = running[0] === undefined ? undefined : fold.children[running[0]];
  if (child?.waiting) {
    const { for: what, reason } = child.waiting;
    return { do: 'wait', waiting: { for: what, reason, session: child.session } };
  }
  const open = Object.keys(fold.openCalls);
  const pendingFor = pendingCalls(fold, now);
  const ready = open.filter((callId) => !pendingFor(callId));
  if (ready.length > 0) return { do: 'call', calls: ready };
  const pending = open[0] && pendingFor(open[0]);
  if (pending) return { do: 'wait', waiting: { for: pending, reason: awaited(fold, open, now) } };
  const steering = fold.queue.filter(({ policy, cancelledBy }) => policy === 'steer' && !cancelledBy);
  const asks = steering.length > 0 || fold.lastRole !== 'assistant';
  if (asks && reportDue(fold)) return { do: 'report' };
  if (steering.length > 0) return { do: 'steer', inputs: steering };
  return fold.lastRole === 'assistant' ? { do: 'finish' } : { do: 'ask' };
};
