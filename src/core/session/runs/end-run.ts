import type { EventDraft } from '../../../schema/event.ts';
import type { Actor, RunId } from '../../../schema/ids.ts';
import type { Json } from '../../../schema/json.ts';
import type { RunFailure } from '../../../schema/run-failure-catalog.ts';
import type { SessionFold } from '../fold.ts';
import { abandoned, type PartialAnswer } from './partial-answer.ts';
import { endRunningCalls, interruptedCalls, settleOpenCalls } from './settle-calls.ts';

export type RunEnd =
  | { readonly status: 'succeeded'; readonly output: Json }
  | { readonly status: 'failed'; readonly error: RunFailure }
  | { readonly status: 'cancelled' };

export interface RunEnder {
  readonly run: RunId;
  readonly actor: Actor;
  readonly now: number;
  /** What the log has of an answer that is not complete. */
  readonly partial: PartialAnswer | undefined;
}

/**
 * Returns the events that end a run. Every open call gets a result, so that later turns can continue from the
 * transcript.
 */
export const endDrafts = (
  fold: SessionFold,
  payload: RunEnd,
  { run, actor, now, partial }: RunEnder,
): readonly EventDraft[] => {
  const common = { actor, turn: fold.turn, run };
  if (fold.run?.id !== run) return [{ type: 'run.ended', payload, ...common }];
  const how =
    payload.status === 'cancelled'
      ? {
          outcome: 'cancelled' as const,
          text: 'The run was cancelled; whether the call took effect is not known.',
          run,
        }
      : { ...interruptedCalls, run };
  return [
    ...endRunningCalls(fold, how, now),
    ...settleOpenCalls(fold, how),
    ...(fold.run.asked
      ? [abandoned(fold.run.asked.message, payload.status === 'cancelled' ? 'cancelled' : 'stopped', partial, common)]
      : []),
    { type: 'run.ended', payload, ...common },
    ...(fold.status === 'pausing' ? [{ type: 'session.paused', payload: {}, ...common } as const] : []),
  ];
};
