import { PerdureError } from '../../schema/error.ts';
import type { Appended, AppendOutcome, SessionKey } from '../ports/store.ts';
import { type Command, illegalTransition } from '../session/lifecycle.ts';
import { tooManyConflicts } from './conflict-retry.ts';
import { sessionNotFound } from './session-folds.ts';

export const keyReused = (key: SessionKey): PerdureError =>
  new PerdureError(
    'KEY_REUSED',
    'this idempotency key was used for something else in this session: take a new key for a new request',
    { details: { ...key } },
  );

/** The error for an append that did not land. `command` is the row of the lifecycle table that the append was bound to. */
export const appendRefusal = (
  key: SessionKey,
  outcome: Exclude<AppendOutcome, Appended>,
  command?: Command,
): PerdureError => {
  switch (outcome.outcome) {
    case 'missing':
      return sessionNotFound(key);
    case 'exists':
      return new PerdureError('SESSION_EXISTS', `${key.session} exists already: open again`, { details: { ...key } });
    case 'key-reused':
      return keyReused(key);
    case 'fenced':
      return new PerdureError(
        'FENCED',
        `another writer has taken over ${key.session}: stop writing to it, or track the session anew`,
        { details: { ...key, epoch: outcome.epoch } },
      );
    case 'status':
      return command ? illegalTransition(outcome.status, command) : tooManyConflicts(key);
    case 'conflict':
    case 'duplicate':
      return tooManyConflicts(key);
  }
};
