import type { SessionId } from '../../schema/ids.ts';
import type { Limits, Spent } from '../../schema/run.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';

/** The usage of a session, and its limits. */
export interface SessionUsage {
  readonly session: SessionId;
  readonly agent?: { readonly name: string; readonly version: number } | undefined;
  readonly spent: Spent;
  readonly limits: Limits;
}

export const usageOf = async (scope: LogAccess, key: SessionKey): Promise<SessionUsage> => {
  const { agent, spent, limits } = await scope.folds.outline(key);
  return {
    session: key.session,
    ...(agent && { agent }),
    spent,
    limits,
  };
};

/**
 * Returns the usage of a session. Returns only its id if the log cannot be read, so that other sessions can still be
 * shown.
 */
export const usageUnlessDamaged = async (scope: LogAccess, key: SessionKey): Promise<SessionUsage | SessionId> => {
  try {
    return await usageOf(scope, key);
  } catch (error) {
    if (isSessionDamage(error)) return key.session;
    throw error;
  }
};
