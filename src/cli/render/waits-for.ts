import type { SessionSummary } from '../../schema/summary.ts';
import { age } from './time.ts';

/** What a session waits for, in a word and in detail. */
export interface AwaitedThing {
  readonly what: string;
  readonly on: string;
}

/**
 * What the run of a session waits for, with the time after which it continues by itself, or the person who holds the
 * session. Undefined if nothing is waited for.
 */
export const waitsFor = (
  { waiting, waitingOn = '', waitsUntil, holder }: SessionSummary,
  now: number,
): AwaitedThing | undefined => {
  if (waiting)
    return { what: waitsUntil === undefined ? waiting : `${waiting}, ${age(now, waitsUntil)}`, on: waitingOn };
  return holder === 'human' ? { what: 'human', on: '' } : undefined;
};
