import type { Session } from '../../core/runtime/session.ts';
import type { EventType, SessionEvent } from '../../schema/event.ts';
import { eventGist } from '../render/event-gist.ts';

/** Number of events that are searched, newest first. An older failure no longer matters. */
const newestEvents = 64;
const maxChars = 400;

/** Events that end a run, or that make an earlier end obsolete. */
const decisive: ReadonlySet<EventType> = new Set<EventType>([
  'run.ended',
  'run.started',
  'input.admitted',
  'session.forked',
  'session.rewound',
]);

const isFailure = (event: SessionEvent): boolean => event.type === 'run.ended' && event.payload.status === 'failed';

/**
 * Describes how the last run failed, safe to print. Undefined if it did not fail, or if the session has continued
 * since.
 */
export const lastFailure = async (session: Session, seq: number): Promise<string | undefined> => {
  const events = await Array.fromAsync(session.events({ after: Math.max(0, seq - newestEvents) }));
  const last = events.findLast(({ type }) => decisive.has(type));
  return last && isFailure(last) ? `the last run ${eventGist(last, maxChars)}` : undefined;
};
