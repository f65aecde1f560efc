import { isPerdureError } from '../../schema/error.ts';
import { execute } from '../engine/execute.ts';
import { keyOf, type WriteAccess } from '../engine/scope.ts';
import type { SessionFold } from '../session/fold.ts';

/**
 * Who waits for this session goes on when it does. Asked for after the log of the child says so and before it is released, so that after a
 * crash whoever looks at the child next tells.
 */
export const notifyCaller = async (scope: WriteAccess, { calledBy, session }: SessionFold): Promise<void> => {
  if (!calledBy) return;
  const { callId } = calledBy;
  const key = keyOf(scope, calledBy.session);
  try {
    await scope.folds.head(key);
    await execute(scope, key, { type: 'tell', news: { callId, session } });
  } catch (error) {
    if (!isPerdureError(error, 'SESSION_NOT_FOUND')) throw error; // it came by itself in a bundle
  }
};
