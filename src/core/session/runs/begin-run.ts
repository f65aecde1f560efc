import type { EventDraft, PayloadOf } from '../../../schema/event.ts';
import type { SessionFold } from '../fold.ts';
import type { QueuedInput } from './run-fold.ts';
import { settleOpenCalls } from './settle-calls.ts';

/** The worker that works on a run, and its machine. Absent in a replay, which no worker executes. */
export type RunWorkedBy = Pick<PayloadOf<'run.started'>, 'worker' | 'machine'>;

/** The worker and the agent's version, as the start of an attempt records them. */
export const workedBy = ({ bound }: SessionFold, by: RunWorkedBy): Omit<PayloadOf<'run.started'>, 'attempt'> => ({
  ...by,
  agent: bound?.agent,
});

/**
 * The first events of a run: results for calls that a loop outside Perdure left open, the start, and the message to
 * answer.
 */
export const beginDrafts = (fold: SessionFold, input: QueuedInput, by: RunWorkedBy = {}): readonly EventDraft[] => [
  ...settleOpenCalls(fold),
  {
    type: 'run.started',
    payload: { attempt: 1, ...workedBy(fold, by) },
    actor: input.by,
    turn: 'next',
    run: input.run,
  },
  {
    type: 'message.appended',
    payload: { message: input.message, retries: input.retries, contributors: input.contributors },
    actor: input.by,
    turn: 'current',
    run: input.run,
  },
];
