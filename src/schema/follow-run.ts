import type { PayloadOf, SessionEvent } from './event.ts';
import type { MessageId, RunId } from './ids.ts';

/** The state of a run, folded from its events since admission. */
export interface FollowedRun {
  readonly id: RunId;
  /** The run that answers the input. It differs from `id` if the input joined another run. */
  readonly answeredBy: RunId;
  readonly message?: MessageId | undefined;
  readonly end?: PayloadOf<'run.ended'> | undefined;
}

export const newlyFollowed = (id: RunId): FollowedRun => ({ id, answeredBy: id });

const lostRun = ({ session, payload: { seq, reason } }: SessionEvent<'session.quarantined'>): string =>
  `event ${seq} of ${session} is damaged: ${reason}; \`perdure repair ${session}\` continues before it, as a fork`;

/** Folds one event. A fork ends the run as cancelled, because a fork does not inherit unfinished runs. */
export const followRun = (before: FollowedRun, event: SessionEvent): FollowedRun => {
  switch (event.type) {
    case 'input.admitted': {
      const { run, message } = event.payload;
      return run === before.id ? { ...before, message: message.id } : before;
    }
    case 'message.appended': {
      const isInput = event.payload.message.id === before.message;
      return isInput && event.run ? { ...before, answeredBy: event.run } : before;
    }
    case 'run.ended':
      return event.run === before.answeredBy ? { ...before, end: event.payload } : before;
    case 'session.forked':
      return { ...before, end: { status: 'cancelled' } };
    case 'session.quarantined':
      return { ...before, end: { status: 'failed', error: { code: 'EVENT_DAMAGED', message: lostRun(event) } } };
    default:
      return before;
  }
};

/**
 * Whether the event belongs to this run, so that a reader of the run receives it. Call this after folding the event.
 */
export const isOfRun = ({ id, answeredBy }: FollowedRun, { run, type }: SessionEvent): boolean =>
  run === answeredBy || run === id || type.startsWith('session.');
