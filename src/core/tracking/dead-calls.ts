import { isDeadLoop } from '../engine/process-holder.ts';
import type { WriteAccess } from '../engine/scope.ts';
import { readHead, writeDecision } from '../engine/session-writer.ts';
import type { SessionKey } from '../ports/store.ts';
import type { RunningCall, SessionFold } from '../session/fold.ts';
import { endLeftCall } from '../session/runs/settle-calls.ts';
import { leftCalls } from './journal.ts';

/**
 * The calls in flight whose loop is dead and which nothing can settle better. A later tracker runs calls that are not
 * `once` again, and reconciles those that it can.
 */
const deadCalls = (fold: SessionFold): readonly (readonly [callId: string, RunningCall])[] => {
  const left = Object.entries(leftCalls(fold)).filter(
    ([, { effects = 'once', reconciles }]) => effects === 'once' && !reconciles,
  );
  const holder = left.length > 0 ? fold.tracker?.holder : undefined;
  return holder && isDeadLoop(holder) ? left : [];
};

/**
 * Ends calls whose loop is known to be dead, as interrupted. Returns whether there were any. A loop that claims the
 * session meanwhile keeps its claim: the append fails on its epoch, and the decision is made again on its fold.
 */
export const endDeadCalls = async (scope: WriteAccess, key: SessionKey, fold: SessionFold): Promise<boolean> => {
  if (deadCalls(fold).length === 0) return false;
  const now = scope.clock.now();
  await writeDecision(scope, key, {
    read: () => readHead(scope, key),
    decide: (state) => {
      const drafts = deadCalls(state).map(([callId, call]) => endLeftCall(state, callId, call, now));
      return { drafts, takesOver: true, raisesEpoch: true };
    },
  });
  return true;
};
