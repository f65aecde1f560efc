import type { EventDraft } from '../../../schema/event.ts';
import type { SessionFold } from '../fold.ts';
import type { QueuedInput } from './run-fold.ts';
import { settleOpenCalls } from './settle-calls.ts';

/**
 * The first events of a run: results for calls that a loop outside Perdure left open, the start, and the message to
 * answer.
 */
export const beginDrafts = (fold: SessionFold, input: QueuedInput): readonly EventDraft[] => [
  ...settleOpenCalls(fold),
  { type: 'run.started', payload: { attempt: 1 }, actor: input.by, turn: 'next', run: input.run },
  {
    type: 'message.appended',
    payload: { message: input.message, retries: input.retries },
    actor: input.by,
    turn: 'current',
    run: input.run,
  },
];
