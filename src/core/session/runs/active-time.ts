import type { SessionEvent } from '../../../schema/event.ts';
import type { RunFold } from './run-fold.ts';

/**
 * The types of events by which a run shows that its worker lives. Another writer, such as a person who cancels a run,
 * writes none of them, except for calls that it ends as cancelled or interrupted.
 */
const signsOfLife: ReadonlySet<string> = new Set<SessionEvent['type']>([
  'run.started',
  'run.resumed',
  'model.called',
  'model.completed',
  'model.failed',
  'tool.called',
  'tool.retried',
  'tool.completed',
  'tool.failed',
]);

const isSignOfLife = (event: SessionEvent): boolean =>
  signsOfLife.has(event.type) &&
  !(event.type === 'tool.failed' && (event.payload.outcome === 'cancelled' || event.payload.outcome === 'interrupted'));

/** Notes the time of the newest event that a worker wrote for the run. */
export const withSignOfLife = (after: RunFold, event: SessionEvent): RunFold =>
  after.run && after.run.id === event.run && after.run.workedAt !== event.at && isSignOfLife(event)
    ? { ...after, run: { ...after.run, workedAt: event.at } }
    : after;

/** Stops the clock of a run that its worker did not stop itself. The worker may have been dead for long. */
export const stopClockOfDead = (before: RunFold): RunFold =>
  before.run ? stopClock(before, before.run.workedAt) : before;

const isByWorker = ({ actor }: SessionEvent): boolean => actor.startsWith('agent:');

export const stopClock = (before: RunFold, at: number): RunFold => {
  const { run, spent } = before;
  if (run?.activeSince === undefined) return before;
  const activeMs = spent.activeMs + Math.max(0, at - run.activeSince);
  return { ...before, run: { ...run, activeSince: undefined }, spent: { ...spent, activeMs } };
};

/** Stops the clock at an event that ends the work, by the worker or by another writer. */
export const stopClockAt = (before: RunFold, event: SessionEvent): RunFold =>
  isByWorker(event) ? stopClock(before, event.at) : stopClockOfDead(before);
