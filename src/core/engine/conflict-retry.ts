import { backoffMs } from '../../concurrency/backoff.ts';
import { PerdureError } from '../../schema/error.ts';
import type { SessionKey } from '../ports/store.ts';
import type { WriteAccess } from './scope.ts';

const maxAttempts = 20;
const backoff = { firstMs: 2, maxMs: 50 };

export type RetryAccess = Pick<WriteAccess, 'clock' | 'random'>;

/** Waits before an attempt, except before the first. Uses jitter, so that lockstep retries cannot starve a writer. */
const backOff = async ({ clock, random }: RetryAccess, attempt: number): Promise<void> => {
  if (attempt > 0) await clock.sleep(backoffMs(attempt, backoff, random.number));
};

export const tooManyConflicts = (key: SessionKey): PerdureError =>
  new PerdureError('CONFLICT', `gave up on ${key.session} after ${maxAttempts} conflicting writes: try again later`, {
    details: { ...key, attempts: maxAttempts },
  });

export interface Attempt {
  /** The number of the attempt, counted from 0. */
  readonly attempt: number;
  readonly isLast: boolean;
}

/**
 * The result of one attempt. `conflict` is the error to throw after the last attempt, by default `tooManyConflicts`.
 */
export type AttemptResult<T> = { readonly done: T } | { readonly conflict: PerdureError | undefined };

/** Retries while other writers conflict, up to `maxAttempts` attempts. */
export const retryConflicts = async <T>(
  scope: RetryAccess,
  key: SessionKey,
  work: (attempt: Attempt) => Promise<AttemptResult<T>>,
): Promise<T> => {
  for (let attempt = 0; ; attempt++) {
    const isLast = attempt + 1 >= maxAttempts;
    const result = await work({ attempt, isLast });
    if ('done' in result) return result.done;
    if (isLast) throw result.conflict ?? tooManyConflicts(key);
    await backOff(scope, attempt);
  }
};
