import { isPerdureError } from '../../schema/error.ts';
import { execute } from '../engine/execute.ts';
import { keyOf, type WriteAccess } from '../engine/scope.ts';
import type { SessionFold } from '../session/fold.ts';

/**
 * Resumes the session that waits for this one. Runs after the log of the child has the news, and before the child is
 * released. After a crash, the next worker that serves the child repeats it.
 */
export const notifyCaller = async (scope: WriteAccess, { calledBy, session }: SessionFold): Promise<void> => {
  if (!calledBy) return;
  const { callId } = calledBy;
  const key = keyOf(scope, calledBy.session);
  try {
    await scope.folds.head(key);
    await execute(scope, key, { type: 'tell', news: { callId, session } });
  } catch (error) {
    if (!isPerdureError(error, 'SESSION_NOT_FOUND')) throw error; // the session was imported without its caller
  }
};
