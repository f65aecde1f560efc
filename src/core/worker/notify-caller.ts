import { isPerdureError } from '../../schema/error.ts';
import { execute } from '../engine/execute.ts';
import { keyOf } from '../engine/scope.ts';
import { despiteDamage, type QuarantineAccess } from '../maintenance/quarantine.ts';
import type { SessionFold } from '../session/fold.ts';

/**
 * Resumes the parent session that waits for this child. Runs after the news is in the child's log, and before the
 * child is released. After a crash, the next worker that serves the child repeats it.
 */
export const notifyCaller = async (scope: QuarantineAccess, { calledBy, session }: SessionFold): Promise<void> => {
  if (!calledBy) return;
  const { callId } = calledBy;
  const key = keyOf(scope, calledBy.session);
  try {
    await despiteDamage(scope, key, async () => {
      await scope.folds.head(key);
      await execute(scope, key, { type: 'tell', news: { callId, session } });
    });
  } catch (error) {
    if (!isPerdureError(error, 'SESSION_NOT_FOUND')) throw error; // the session was imported without its caller
  }
};
