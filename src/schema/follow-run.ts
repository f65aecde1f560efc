import type { PayloadOf, SessionEvent } from './event.ts';
import type { MessageId, RunId } from './ids.ts';

/** What the events from its admission on tell of a run. */
export interface FollowedRun {
  readonly id: RunId;
  /** The one that answers its input: another, where the input joined that. */
  readonly answeredBy: RunId;
  readonly message?: MessageId | undefined;
  readonly end?: PayloadOf<'run.ended'> | undefined;
}

export const newlyFollowed = (id: RunId): FollowedRun => ({ id, answeredBy: id });

/** One event further. A fork takes no run along that has not ended by then, and nobody can write an end for it. */
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
    default:
      return before;
  }
};

/** Whether the event, which was the last that was followed, is one that its reader is shown. */
export const isOfRun = ({ id, answeredBy }: FollowedRun, { run, type }: SessionEvent): boolean =>
  run === answeredBy || run === id || type.startsWith('session.');
