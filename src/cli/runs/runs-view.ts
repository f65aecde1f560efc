import type { PayloadOf, SessionEvent } from '../../schema/event.ts';
import { holderName } from '../../schema/handoff.ts';
import type { MessageId, RunId, SessionId } from '../../schema/ids.ts';
import type { Status } from '../../schema/lifecycle.ts';
import type { WaitReason } from '../../schema/run.ts';

export type Approval = PayloadOf<'approval.requested'> & { readonly at: number };
export type Question = PayloadOf<'question.asked'>;
export type RunEnd = PayloadOf<'run.ended'>;

/** State of the runs of a session, folded from its events. */
export interface RunsView {
  readonly status: Status;
  readonly holder: 'agent' | 'human';
  /** The people who hold the session: `member:ann`, `role:approver` or `human`. */
  readonly heldBy?: string | undefined;
  readonly run?:
    | {
        readonly id: RunId;
        readonly waitingFor?: WaitReason | undefined;
        readonly why?: string | undefined;
        /** The session of the subagent that waits. */
        readonly waitsIn?: SessionId | undefined;
      }
    | undefined;
  readonly queue: readonly {
    readonly run: RunId;
    readonly message: MessageId;
    readonly notBefore?: number | undefined;
  }[];
  readonly approvals: readonly Approval[];
  readonly questions: readonly Question[];
  readonly end?: RunEnd | undefined;
}

export const noRuns: RunsView = { status: 'active', holder: 'agent', queue: [], approvals: [], questions: [] };

const withoutCall = (view: RunsView, id: string): RunsView => ({
  ...view,
  approvals: view.approvals.filter(({ callId }) => callId !== id),
  questions: view.questions.filter(({ callId }) => callId !== id),
});

/** Removes the wait of the run, because a worker can continue it. */
const goesOn = (view: RunsView): RunsView => ({
  ...view,
  ...(view.run && { run: { id: view.run.id } }),
});

const ended = (view: RunsView, run: RunId | undefined, end: RunEnd): RunsView => {
  const isQueued = view.queue.some((each) => each.run === run);
  const queue = view.queue.filter((each) => each.run !== run);
  if (isQueued) return { ...view, queue, end, ...(view.run?.id === run && { run: undefined }) };
  return { ...view, run: undefined, approvals: [], questions: [], end };
};

export const foldView = (view: RunsView, event: SessionEvent): RunsView => {
  switch (event.type) {
    case 'session.forked':
      return noRuns;
    case 'session.pausing':
      return { ...view, status: 'pausing' };
    case 'session.paused':
      return { ...view, status: 'paused' };
    case 'session.resumed':
    case 'session.reopened':
      return { ...view, status: 'active' };
    case 'session.closed':
      return { ...view, status: 'closed' };
    case 'session.handed':
      return view.run?.waitingFor === 'human' && event.payload.to === 'agent'
        ? goesOn({ ...view, holder: 'agent' })
        : { ...view, holder: event.payload.to, heldBy: holderName(event.payload) };
    case 'input.admitted': {
      const { run, message, notBefore, policy } = event.payload;
      const input = { run, message: message.id, notBefore };
      return { ...view, queue: policy === 'interrupt' ? [input, ...view.queue] : [...view.queue, input] };
    }
    case 'message.appended': {
      const { id } = event.payload.message;
      return { ...view, queue: view.queue.filter(({ message }) => message !== id) };
    }
    case 'run.started':
      return { ...view, run: { id: event.run! }, queue: view.queue.filter(({ run }) => run !== event.run) };
    case 'run.resumed':
    case 'child.resumed':
      return { ...view, run: { id: event.run! } };
    case 'run.waiting':
    case 'child.waiting': {
      const { for: waitingFor, reason: why, session: waitsIn } = event.payload;
      return { ...view, run: { id: event.run!, waitingFor, why, waitsIn } };
    }
    case 'run.ended':
      return ended(view, event.run, event.payload);
    case 'approval.requested':
      return { ...view, approvals: [...view.approvals, { ...event.payload, at: event.at }] };
    case 'approval.settled': {
      const approvals = view.approvals.filter(({ approval }) => approval !== event.payload.approval);
      return goesOn({ ...view, approvals });
    }
    case 'budget.set':
      return view.run?.waitingFor === 'budget' ? goesOn(view) : view;
    case 'quota.changed':
      return view.run?.waitingFor === 'quota' ? goesOn(view) : view;
    case 'question.asked':
      return { ...view, questions: [...view.questions, event.payload] };
    case 'question.answered':
      return goesOn(withoutCall(view, event.payload.callId));
    case 'tool.completed':
    case 'tool.failed':
      return withoutCall(view, event.payload.callId);
    default:
      return view;
  }
};

/** Why nothing happens in the session until a person or program acts. */
export type Rest =
  | { readonly kind: 'ended'; readonly end?: RunEnd | undefined }
  | { readonly kind: 'waiting'; readonly for: WaitReason }
  | { readonly kind: 'paused' };

/**
 * Why the session is at rest. Undefined while a worker has something to do. Inputs scheduled for later are ignored
 * until they are due.
 */
export const restOf = ({ status, holder, run, queue, end }: RunsView, now = Date.now()): Rest | undefined => {
  const isIdle = !run && !queue.some(({ notBefore = 0 }) => notBefore <= now);
  if (status === 'paused' && !(isIdle && end)) return { kind: 'paused' };
  if (isIdle) return { kind: 'ended', end };
  if (status === 'closed' || status === 'archived') return { kind: 'ended', end };
  if (holder === 'human') return { kind: 'waiting', for: 'human' };
  return run?.waitingFor && run.waitingFor !== 'model' ? { kind: 'waiting', for: run.waitingFor } : undefined;
};
