import type { EventDraft } from '../../../schema/event.ts';
import type { SessionFold } from '../fold.ts';
import type { QueuedInput } from './run-fold.ts';
import { settleOpenCalls } from './settle-calls.ts';

/** The first event of a run and the message it answers. Calls that a foreign loop left open are none of its business. */
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
