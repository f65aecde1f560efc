import type { SessionKey } from '../ports/store.ts';
import { type LogAccess, type SightAccess, seeingAll } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

/**
 * Returns the scope for an act on a session that the caller sees, and on the sessions of its subagents. What follows
 * from the act must not fail because the caller does not see a subagent, or no longer sees the session.
 */
export const actingOn = async <Access extends LogAccess & Pick<SightAccess, 'whole'>>(
  scope: Access,
  key: SessionKey,
): Promise<Access> => {
  if (!(await scope.store.head(key))) throw sessionNotFound(key);
  return seeingAll(scope);
};
