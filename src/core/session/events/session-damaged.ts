import { isPerdureError, PerdureError } from '../../../schema/error.ts';
import type { SessionId } from '../../../schema/ids.ts';

const restore = 'restore it from an export or a backup';

/** What a store keeps of one session beside its events cannot be; the others are none the worse. */
export const sessionDamaged = (session: SessionId, what: string, advice = restore): PerdureError =>
  new PerdureError('STORE_CORRUPT', `${what}: ${advice}`, { details: { session } });

export const ownAncestor = (session: SessionId): PerdureError =>
  sessionDamaged(session, `${session} is its own ancestor`);

/** Whether it tells of one session, and not of the whole store. */
export const isSessionDamage = (error: unknown): boolean =>
  isPerdureError(error, 'EVENT_DAMAGED') ||
  isPerdureError(error, 'EVENT_UNSUPPORTED') ||
  (isPerdureError(error, 'STORE_CORRUPT') && error.details.session !== undefined);
