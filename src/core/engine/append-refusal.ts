import { PerdureError } from '../../schema/error.ts';
import type { Appended, AppendOutcome, SessionKey } from '../ports/store.ts';
import { type Command, illegalTransition } from '../session/lifecycle.ts';
import { quotaError } from '../session/quota-refusal.ts';
import { tooManyConflicts } from './conflict-retry.ts';
import { sessionNotFound } from './session-folds.ts';

export const keyReused = (key: SessionKey): PerdureError =>
  new PerdureError(
    'KEY_REUSED',
    'this idempotency key was already used for a different request in this session: use a new key',
    { details: { ...key } },
  );

const sessionQuarantined = (key: SessionKey, seq: number): PerdureError =>
  new PerdureError(
    'SESSION_DAMAGED',
    `${key.session} is quarantined, because its event ${seq} is damaged: \`perdure repair ${key.session}\` continues it from event ${seq - 1}, as a fork`,
    { details: { ...key, seq } },
  );

/**
 * The error for an append that the store rejected. `command` is the row of the lifecycle table whose statuses the
 * append required.
 */
export const appendRefusal = (
  key: SessionKey,
  outcome: Exclude<AppendOutcome, Appended>,
  command?: Command,
): PerdureError => {
  switch (outcome.outcome) {
    case 'missing':
      return sessionNotFound(key);
    case 'exists':
      return new PerdureError('SESSION_EXISTS', `${key.session} already exists: open it again`, {
        details: { ...key },
      });
    case 'key-reused':
      return keyReused(key);
    case 'fenced':
      return new PerdureError(
        'FENCED',
        `another writer has taken over ${key.session}: stop writing to it, or track the session again`,
        { details: { ...key, epoch: outcome.epoch } },
      );
    case 'quota':
      return quotaError(key.workspace, outcome.refusal);
    case 'damaged':
      return sessionQuarantined(key, outcome.seq);
    case 'status':
      return command ? illegalTransition(outcome.status, command) : tooManyConflicts(key);
    case 'held':
    case 'conflict':
    case 'duplicate':
      return tooManyConflicts(key);
  }
};
