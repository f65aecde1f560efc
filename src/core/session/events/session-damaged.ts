import { isPerdureError, PerdureError } from '../../../schema/error.ts';
import type { SessionId } from '../../../schema/ids.ts';

const restore = 'restore it from an export or a backup';

/** The error for a corrupt row of one session. Other sessions are not affected. */
export const sessionDamaged = (session: SessionId, what: string, advice = restore): PerdureError =>
  new PerdureError('STORE_CORRUPT', `${what}: ${advice}`, { details: { session } });

export const ownAncestor = (session: SessionId): PerdureError =>
  sessionDamaged(session, `${session} is its own ancestor`);

/** Whether an error concerns one damaged session and not the whole store. */
export const isSessionDamage = (error: unknown): boolean =>
  isPerdureError(error, 'EVENT_DAMAGED') ||
  isPerdureError(error, 'EVENT_UNSUPPORTED') ||
  (isPerdureError(error, 'STORE_CORRUPT') && error.details.session !== undefined);
