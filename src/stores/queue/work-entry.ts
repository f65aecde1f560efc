import { callsForWork } from '../../core/ports/queue.ts';
import type { StoredEvent } from '../../core/ports/store.ts';
import { agentName } from '../../core/session/agent.ts';
import type { Priority } from '../../schema/description.ts';
import type { SessionSummary } from '../../schema/summary.ts';

type Told = Pick<StoredEvent, 'type' | 'seq'>;

/** What the queue has to know of a session. */
export interface WorkEntry {
  /** Of the newest event that a worker has to look at; undefined when only the rest may have changed. */
  readonly seq: number | undefined;
  readonly agent: string;
  readonly priority: number;
}

export const defaultPriority = 'normal' satisfies Priority;
const levels: Readonly<Record<Priority, number>> = { low: 0, normal: 1, high: 2 };
const describing: ReadonlySet<string> = new Set(['agent.bound', 'session.described']);
const opening: ReadonlySet<string> = new Set(['session.opened', 'session.forked']);

export const workSeqOf = (events: readonly Told[]): number | undefined =>
  events.findLast(({ type }) => callsForWork.has(type))?.seq;

/** A session that is new is not in the queue, so there is nothing to describe there. */
const isDescribed = (events: readonly Told[]): boolean =>
  events.some(({ type }) => describing.has(type)) && !events.some(({ type }) => opening.has(type));

/** Whether an append of these events is of any interest to workers. */
export const concernsWork = (events: readonly Told[]): boolean =>
  workSeqOf(events) !== undefined || isDescribed(events);

/** `summary` as it is after the events. */
export const workEntryOf = (
  { agent, priority = defaultPriority }: SessionSummary,
  events: readonly Told[],
): WorkEntry | undefined => {
  if (!concernsWork(events)) return undefined;
  return { seq: workSeqOf(events), agent: agent ? agentName(agent) : '', priority: levels[priority] };
};
