import type { SessionEvent } from '../../../schema/event.ts';
import type { RunId } from '../../../schema/ids.ts';
import type { Spent } from '../../../schema/run.ts';

/** The part of a fold that measures active time. */
interface Timed {
  readonly run?:
    | { readonly id: RunId; readonly activeSince?: number | undefined; readonly workedAt: number }
    | undefined;
  readonly spent: Spent;
}

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
export const withSignOfLife = <Fold extends Timed>(after: Fold, event: SessionEvent): Fold =>
  after.run && after.run.id === event.run && after.run.workedAt !== event.at && isSignOfLife(event)
    ? { ...after, run: { ...after.run, workedAt: event.at } }
    : after;

/** Stops the clock of a run that its worker did not stop itself. The worker may have been dead for long. */
export const stopClockOfDead = <Fold extends Timed>(before: Fold): Fold =>
  before.run ? stopClock(before, before.run.workedAt) : before;

const isByWorker = ({ actor }: SessionEvent): boolean => actor.startsWith('agent:');

export const stopClock = <Fold extends Timed>(before: Fold, at: number): Fold => {
  const { run, spent } = before;
  if (run?.activeSince === undefined) return before;
  const activeMs = spent.activeMs + Math.max(0, at - run.activeSince);
  return { ...before, run: { ...run, activeSince: undefined }, spent: { ...spent, activeMs } };
};

/** Stops the clock at an event that ends the work, by the worker or by another writer. */
export const stopClockAt = <Fold extends Timed>(before: Fold, event: SessionEvent): Fold =>
  isByWorker(event) ? stopClock(before, event.at) : stopClockOfDead(before);
