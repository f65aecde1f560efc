import { callsForWork } from '../../core/ports/queue.ts';
import type { StoredEvent } from '../../core/ports/store.ts';
import { agentName } from '../../core/session/agent.ts';
import type { Priority } from '../../schema/description.ts';
import type { SessionSummary } from '../../schema/summary.ts';

type TypedEvent = Pick<StoredEvent, 'type' | 'seq'>;

/** The facts that the queue needs about a session. */
export interface WorkEntry {
  /** Seq of the newest event that calls for a worker; undefined when only agent or priority may have changed. */
  readonly seq: number | undefined;
  readonly agent: string;
  readonly priority: number;
}

export const defaultPriority = 'normal' satisfies Priority;
const levels: Readonly<Record<Priority, number>> = { low: 0, normal: 1, high: 2 };
const describing: ReadonlySet<string> = new Set(['agent.bound', 'session.described']);
const opening: ReadonlySet<string> = new Set(['session.opened', 'session.forked']);

export const workSeqOf = (events: readonly TypedEvent[]): number | undefined =>
  events.findLast(({ type }) => callsForWork.has(type))?.seq;

/** Whether the events may change the agent or priority of a queued session. A new session is not in the queue yet. */
const isDescribed = (events: readonly TypedEvent[]): boolean =>
  events.some(({ type }) => describing.has(type)) && !events.some(({ type }) => opening.has(type));

/** Whether an append of these events must update the queue. */
export const concernsWork = (events: readonly TypedEvent[]): boolean =>
  workSeqOf(events) !== undefined || isDescribed(events);

/**
 * The queue entry for these events; undefined if they do not concern workers. The summary must be the one after the
 * events.
 */
export const workEntryOf = (
  { agent, priority = defaultPriority }: SessionSummary,
  events: readonly TypedEvent[],
): WorkEntry | undefined => {
  if (!concernsWork(events)) return undefined;
  return { seq: workSeqOf(events), agent: agent ? agentName(agent) : '', priority: levels[priority] };
};
