import type { Session } from '../../core/runtime/session.ts';
import type { EventType, SessionEvent } from '../../schema/event.ts';
import { eventGist } from '../render/event-gist.ts';

/** A failure is told among what happened last, not for the sake of what is long ago. */
const newestEvents = 64;
const maxChars = 400;

/** What stands at the end of a run, or what makes that past. */
const decisive: ReadonlySet<EventType> = new Set<EventType>([
  'run.ended',
  'run.started',
  'input.admitted',
  'session.forked',
  'session.rewound',
]);

const isFailure = (event: SessionEvent): boolean => event.type === 'run.ended' && event.payload.status === 'failed';

/** How the last run failed, safe to print; undefined where it did not, or where the session has gone on since. */
export const lastFailure = async (session: Session, seq: number): Promise<string | undefined> => {
  const events = await Array.fromAsync(session.events({ after: Math.max(0, seq - newestEvents) }));
  const last = events.findLast(({ type }) => decisive.has(type));
  return last && isFailure(last) ? `the last run ${eventGist(last, maxChars)}` : undefined;
};
