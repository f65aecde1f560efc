import type { SessionEvent } from '../../../schema/event.ts';
import type { Actor, RunId } from '../../../schema/ids.ts';

/*
 * A stop is two appends. The first is a fact that raises the epoch: `cancel.requested`, `session.handed` or
 * `session.paused`. It lands at any head and fences the worker. The second settles what the worker left behind. In
 * between the run has a `stop`, and no worker continues it.
 *
 *              cancel.requested                        run.ended
 *   at work ──────────────────▶ stop: cancel  ─────────────────────────▶ ended
 *              session.handed                          run.waiting
 *   at work ──────────────────▶ stop: handoff ─────────────────────────▶ waits for people
 *              session.paused                          message.abandoned
 *   asks a model ─────────────▶ stop: pause   ─────────────────────────▶ paused
 */
export interface Stop {
  readonly how: 'cancel' | 'handoff' | 'pause';
  readonly by: Actor;
  readonly reason?: string | undefined;
}

interface StoppableRun {
  readonly id: RunId;
  readonly waitingFor?: unknown;
  readonly asked?: unknown;
  readonly stop?: Stop | undefined;
}

/** The unsettled stop of a run after the event, given the run after it. A cancelled run can only end. */
export const stopAfter = ({ id, waitingFor, asked, stop }: StoppableRun, event: SessionEvent): Stop | undefined => {
  if (stop?.how === 'cancel') return stop;
  const { actor: by } = event;
  switch (event.type) {
    case 'cancel.requested':
      return event.run === id ? { how: 'cancel', by } : stop;
    case 'session.handed': {
      const { to, reason } = event.payload;
      if (to === 'agent') return stop?.how === 'handoff' ? undefined : stop;
      return waitingFor ? stop : { how: 'handoff', by, reason };
    }
    case 'session.paused':
      return stop ?? (asked ? { how: 'pause', by } : undefined);
    case 'run.started':
    case 'run.resumed':
    case 'run.waiting':
      return event.run === id ? undefined : stop;
    case 'message.abandoned':
      return stop?.how === 'pause' && !asked ? undefined : stop;
    default:
      return stop;
  }
};
